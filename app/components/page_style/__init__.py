"""The style of all pages, and the size of their type."""
