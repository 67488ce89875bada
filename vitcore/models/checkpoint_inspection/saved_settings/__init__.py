"""What files say beside a model's weights: names of classes, and settings that a training saved in the same file."""
