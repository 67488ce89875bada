"""The shell's verb `test`: do the maps hold what they promise, on photos, or against outlines that people drew."""
