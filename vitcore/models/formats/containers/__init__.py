"""Kinds of files that hold tensors, each read without running anything in it: torch's pickles, TorchScript, NumPy's archives."""
