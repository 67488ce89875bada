"""Faithfulness: what an answer loses when patches are covered or removed, and whether a map said so before."""
