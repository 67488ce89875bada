"""Names of libraries and repositories whose ViTs timm itself does not read, one file each."""
