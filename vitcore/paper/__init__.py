"""The paper's own numbers (arXiv 2010.11929v2), as data, and what can be computed from them."""
