"""Recipes: everything that decides a training run, and the presets with their sources and costs."""
