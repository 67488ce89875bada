"""How well a model does: accuracy with labels, few-shot accuracy, held-out photos of a run."""
