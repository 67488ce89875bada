"""Models: those that are loaded, the visitor's choice, their weights, and two of them compared."""
