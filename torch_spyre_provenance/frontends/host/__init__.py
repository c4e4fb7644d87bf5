"""The `spyre` device on host memory, from Python alone."""
