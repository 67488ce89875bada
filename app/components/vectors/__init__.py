"""Vectors as rows of coloured cells."""
