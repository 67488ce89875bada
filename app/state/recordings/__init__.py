"""Recordings of forward passes, and what is computed of them."""
