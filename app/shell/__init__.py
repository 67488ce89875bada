"""The frame of every page: navigation, pickers of photo and model, the address, and lecture mode."""
