"""Text with a button that copies it."""
