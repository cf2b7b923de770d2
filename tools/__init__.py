"""Programs for those who work on visim."""
