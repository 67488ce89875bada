"""The photo that patches are covered on, with the answer and the maps that follow."""
