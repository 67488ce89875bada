"""Models: the menu's cards, weights from the hub or a file, what is known before they are here, and what timm lacks."""
