"""Training: recipes, data, teachers and a loop that is a generator of records."""
