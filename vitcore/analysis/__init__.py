"""Analysis: one idea a file, pure functions of arrays and a Grid; no model, no file, no picture."""
