"""A small Spyre front end of our own, on registered extension points only."""
