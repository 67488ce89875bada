"""Maintainers' scripts, not in the wheel: a trained model made into what `assets/` hold, with the facts of its card."""
