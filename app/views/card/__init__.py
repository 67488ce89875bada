"""The page of the model's card, and of its speed."""
