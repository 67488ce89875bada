"""The page of position embeddings."""
