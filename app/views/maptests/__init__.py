"""The page *Test the maps*."""
