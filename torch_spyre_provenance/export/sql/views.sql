-- The tables, for DuckDB in the directory that was exported to:
--
--     cd OUT; duckdb -c '.read sql/views.sql' -c '.read sql/coverage_over_time.sql'
--
-- Spark: spark.read.parquet("OUT/ops").createOrReplaceTempView("ops"), and so on.
CREATE OR REPLACE MACRO exported(name) AS TABLE SELECT * FROM read_parquet(
    name || '/*/*/*.parquet', hive_partitioning = true,
    hive_types = {'job': VARCHAR, 'rank': BIGINT});
CREATE OR REPLACE VIEW compiles AS FROM exported('compiles');
CREATE OR REPLACE VIEW kernels AS FROM exported('kernels');
CREATE OR REPLACE VIEW ops AS FROM exported('ops');
CREATE OR REPLACE VIEW locations AS FROM exported('locations');
CREATE OR REPLACE VIEW losses AS FROM exported('losses');
CREATE OR REPLACE VIEW times AS FROM exported('times');
