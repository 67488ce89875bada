"""The picture of the page Tokens: two photos whose patch tokens answer to each other."""
