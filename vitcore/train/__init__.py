"""Training: recipes and presets, photos and batches, objectives, a loop that is a generator of records, runs as files."""
