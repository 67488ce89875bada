"""The page of few-shot classifiers."""
