"""A model's components as switches, beside what is left of the answer and of its maps."""
