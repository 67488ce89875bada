"""The one memory cache, what it holds of each visitor, and how large that is."""
