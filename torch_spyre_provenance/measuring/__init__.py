"""What recording costs: measured by interleaved pairs, in one process."""
