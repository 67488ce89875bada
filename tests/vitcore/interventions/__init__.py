"""Activations, edits and head ablation, on small random models of every kind."""
