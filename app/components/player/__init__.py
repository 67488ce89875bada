"""Maps of the layers, played one after another."""
