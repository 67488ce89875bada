"""The button that copies a link to the page."""
