"""What the app computes once and remembers: photos, models, recordings, trainings, reports."""
