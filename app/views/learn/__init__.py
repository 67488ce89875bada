"""The page that plays a training as a film."""
