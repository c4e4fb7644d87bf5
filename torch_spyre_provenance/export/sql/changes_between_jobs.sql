-- What changed between two jobs? Ops by graph, module, operator and line.
--
-- The first and the last job by time are compared; to compare others, write their names
-- into `pair`. One rank stands for each job.
WITH jobs AS (
    SELECT job, MIN(time) AS began, MIN(COALESCE(rank, -1)) AS first_rank
    FROM compiles
    WHERE job IS NOT NULL
    GROUP BY job
),
pair AS (
    SELECT
        (SELECT job FROM jobs ORDER BY began, job LIMIT 1) AS old_job,
        (SELECT job FROM jobs ORDER BY began DESC, job DESC LIMIT 1) AS new_job
),
counted AS (
    SELECT
        ops.job,
        compiles.graph,
        ops.module,
        ops.op,
        ops.file,
        ops.line,
        COUNT(*) AS n,
        SUM(CASE WHEN ops.evidence = 'measured' THEN 1 ELSE 0 END) AS measured
    FROM ops
    JOIN compiles ON ops.compile = compiles.compile
    JOIN jobs ON jobs.job = ops.job AND jobs.first_rank = COALESCE(ops.rank, -1)
    GROUP BY ops.job, compiles.graph, ops.module, ops.op, ops.file, ops.line
),
before AS (SELECT * FROM counted WHERE job = (SELECT old_job FROM pair)),
after AS (SELECT * FROM counted WHERE job = (SELECT new_job FROM pair))
SELECT
    COALESCE(before.graph, after.graph) AS graph,
    COALESCE(before.module, after.module) AS module,
    COALESCE(before.op, after.op) AS op,
    COALESCE(before.file, after.file) AS file,
    COALESCE(before.line, after.line) AS line,
    COALESCE(before.n, 0) AS ops_before,
    COALESCE(after.n, 0) AS ops_after,
    COALESCE(before.measured, 0) AS measured_before,
    COALESCE(after.measured, 0) AS measured_after
FROM before
FULL OUTER JOIN after
    ON before.graph = after.graph
    AND before.module = after.module
    AND before.op = after.op
    AND before.file IS NOT DISTINCT FROM after.file
    AND before.line IS NOT DISTINCT FROM after.line
WHERE COALESCE(before.n, 0) <> COALESCE(after.n, 0)
    OR COALESCE(before.measured, 0) <> COALESCE(after.measured, 0)
ORDER BY 1, 2, 3, 4, 5;
