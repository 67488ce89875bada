"""The page *Cover and see*."""
