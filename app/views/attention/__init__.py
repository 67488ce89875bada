"""The page *Attention explorer*."""
