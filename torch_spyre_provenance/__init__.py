"""Source-to-kernel provenance, built into the compile."""
