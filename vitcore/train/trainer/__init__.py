"""A run from its start to its end: going on where it stopped, checkpoints, snapshots, stopping politely."""
