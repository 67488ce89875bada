"""The page that compares two models on one photo."""
