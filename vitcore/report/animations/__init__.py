"""Pictures step by step as one file that plays: rollout through the layers, and what changes as a model or its input does."""
