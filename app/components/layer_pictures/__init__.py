"""Small pictures, one a layer."""
