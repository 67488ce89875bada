"""The page *Switch off*."""
