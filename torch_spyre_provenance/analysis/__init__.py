"""Pure functions over a bundle."""
