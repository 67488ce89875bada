"""The page *Live*."""
