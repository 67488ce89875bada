"""The shell's verbs around trainings: train, evaluate, few-shot, export, runs, and the paper's experiments."""
