"""Charts of numbers: likely classes, few-shot accuracy, and how alike the layers of two models are."""
