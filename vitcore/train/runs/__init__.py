"""Runs as files: what `runs/<id>/` holds, and the frames of a film."""
