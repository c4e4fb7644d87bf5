-- Which kernels does each line of the model end up in?
SELECT
    locations.file,
    locations.line,
    MIN(locations.text) AS text,
    COUNT(DISTINCT locations.kernel) AS kernels,
    COUNT(*) AS ops,
    MIN(locations.kernel) AS for_example
FROM locations
GROUP BY locations.file, locations.line
ORDER BY ops DESC, locations.file, locations.line;
