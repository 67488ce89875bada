"""A model that a visitor brings: its file on disk, what was found in it, and how it is opened; the visitor's alone."""
