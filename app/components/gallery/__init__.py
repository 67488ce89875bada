"""The gallery of sample photos."""
