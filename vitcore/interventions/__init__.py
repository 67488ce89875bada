"""Activations of any layer by the field's names, a model with some of them changed, what an answer loses without each head."""
