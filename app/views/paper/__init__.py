"""The page of the paper's figures and tables."""
