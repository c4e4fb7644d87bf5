-- How does the share of ops with a line develop, day by day?
SELECT
    CAST(time AS DATE) AS day,
    front_end,
    torch,
    COUNT(*) AS compiles,
    SUM(ops) AS ops,
    100.0 * SUM(measured) / NULLIF(SUM(ops), 0) AS percent_measured,
    100.0 * SUM(measured + inferred) / NULLIF(SUM(ops), 0) AS percent_with_a_line
FROM compiles
GROUP BY 1, 2, 3
ORDER BY 1, 2, 3;
