"""How fast a model is on this machine, and how large a batch fits: the paper's Figure 12 (App. D.5) on one's own device."""
