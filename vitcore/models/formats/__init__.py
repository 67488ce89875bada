"""Weights as other libraries write them: how a file is read, where the model lies in it, and its names as timm's."""

SUFFIXES = (".safetensors", ".pth", ".pt", ".bin", ".npz", ".ckpt", ".tar")  # of weights; what they are, their first bytes say
