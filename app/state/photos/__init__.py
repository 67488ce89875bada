"""Photos: the gallery's, the visitor's choice, collections of them, and their features."""
