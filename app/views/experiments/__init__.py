"""The page of the paper's experiments in small."""
