"""Tests of vitcore.analysis; a package, because test_distance.py exists in two folders."""
