-- Where does the time go, module by module? (Needs `export --trace`.)
--
-- A kernel's time is divided among its ops by the size of their iteration spaces.
SELECT
    compiles.job,
    times.module,
    SUM(times.device_ns) / 1000.0 AS device_us,
    SUM(times.host_ns) / 1000.0 AS host_us,
    COUNT(*) AS ops
FROM times
JOIN compiles ON times.compile = compiles.compile
GROUP BY 1, 2
ORDER BY device_us DESC, host_us DESC, times.module;
