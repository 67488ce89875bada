"""Tests of vitcore.figures; a package, because test_distance.py exists in two folders."""
