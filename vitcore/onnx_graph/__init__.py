"""A plain ViT as an ONNX graph of some 50 kB whose weights stay in their safetensors file, for runtimes outside Python."""
