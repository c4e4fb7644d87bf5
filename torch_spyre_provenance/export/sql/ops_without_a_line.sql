-- Which passes leave ops without a line, and in which versions?
SELECT
    COALESCE(ops.pass_name, '(no pass is known)') AS pass_name,
    compiles.torch,
    compiles.torch_spyre,
    COUNT(*) AS ops_without_a_line,
    MIN(ops.op) AS for_example,
    MIN(ops.reason) AS reason
FROM ops
JOIN compiles ON ops.compile = compiles.compile
WHERE ops.evidence = 'missing'
GROUP BY 1, 2, 3
ORDER BY ops_without_a_line DESC, pass_name, compiles.torch;
