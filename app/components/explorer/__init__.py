"""The attention explorer, drawn in the browser."""
