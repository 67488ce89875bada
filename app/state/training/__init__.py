"""Trainings: their processes, runs, films and estimates."""
