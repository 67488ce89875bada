"""The steps of a story, and buttons that turn them."""
