"""A photo with a map of its patches laid on it."""
