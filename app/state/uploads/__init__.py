"""Uploads: photos, models and files that a visitor brings, kept for that visitor alone."""
