"""The page of patches and their order."""
