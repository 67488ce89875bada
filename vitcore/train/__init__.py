"""Training: recipes, data, teachers and a loop that is a generator of records."""

from vitcore.compat import declare_torchvision_ops

declare_torchvision_ops()  # before any file of this room imports timm
