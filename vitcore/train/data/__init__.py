"""Photographs for training: where they come from, as rows of bytes, in batches, cropped, as tensors."""
