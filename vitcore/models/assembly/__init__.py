"""A module in memory made a `Vit`: a frozen copy that shares nothing with it, timm's form of other libraries', and what to read."""
