"""The page that opens a visitor's own model."""
