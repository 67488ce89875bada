"""The page of handouts and reports."""
