"""A model from its tensors alone: its architecture from their shapes, questions for what shapes cannot say, and its card."""
