"""The page of embedding filters."""
