"""How fast a model is on this machine: measured in a process of its own."""
