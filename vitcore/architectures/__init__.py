"""Architectures: the paper's families by name, its ablations, axial attention, and what any module is made of."""
