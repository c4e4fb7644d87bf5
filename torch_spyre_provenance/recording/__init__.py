"""Observing a compile through Inductor's own extension points."""
