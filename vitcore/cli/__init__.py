"""The shell: `vitcore VERB`, one module for the pictures, one for training, one for reports."""
