"""The page that tells a forward pass step by step."""
