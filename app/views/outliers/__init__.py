"""The page of outlier tokens."""
