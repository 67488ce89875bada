"""The paper's experiments in small: grids of recipes over several seeds, their tidy CSV, and what it says of its findings."""
