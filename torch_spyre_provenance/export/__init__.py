"""Many bundles as tables, for engines that people query with already."""
