"""The page of attention distance."""
