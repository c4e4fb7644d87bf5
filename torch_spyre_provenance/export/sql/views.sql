-- The tables, for DuckDB in the directory that was exported to:
--
--     cd OUT; duckdb -c '.read sql/views.sql' -c '.read sql/coverage_over_time.sql'
--
-- Spark: spark.read.parquet("OUT/ops").createOrReplaceTempView("ops"), and so on.
CREATE OR REPLACE VIEW compiles AS SELECT * FROM read_parquet(
    'compiles/*/*/*.parquet', hive_partitioning = true,
    hive_types = {'job': VARCHAR, 'rank': BIGINT});
CREATE OR REPLACE VIEW kernels AS SELECT * FROM read_parquet(
    'kernels/*/*/*.parquet', hive_partitioning = true,
    hive_types = {'job': VARCHAR, 'rank': BIGINT});
CREATE OR REPLACE VIEW ops AS SELECT * FROM read_parquet(
    'ops/*/*/*.parquet', hive_partitioning = true,
    hive_types = {'job': VARCHAR, 'rank': BIGINT});
CREATE OR REPLACE VIEW locations AS SELECT * FROM read_parquet(
    'locations/*/*/*.parquet', hive_partitioning = true,
    hive_types = {'job': VARCHAR, 'rank': BIGINT});
CREATE OR REPLACE VIEW losses AS SELECT * FROM read_parquet(
    'losses/*/*/*.parquet', hive_partitioning = true,
    hive_types = {'job': VARCHAR, 'rank': BIGINT});
CREATE OR REPLACE VIEW times AS SELECT * FROM read_parquet(
    'times/*/*/*.parquet', hive_partitioning = true,
    hive_types = {'job': VARCHAR, 'rank': BIGINT});
