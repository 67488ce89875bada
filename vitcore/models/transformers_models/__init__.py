"""Vision models of the package transformers, run by its own classes: instantiated, their weights given, watched from outside."""
