"""Two models beside each other: which the second is, and what is computed of both."""
