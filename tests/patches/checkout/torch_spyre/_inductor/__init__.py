"""Its compiler."""
