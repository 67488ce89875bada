"""The page of attention rollout and other relevance methods."""
