"""A trained model on its way out: as a timm hub directory, as what `assets/` hold, with the facts of its card."""
