"""The page *Tokens*."""
