"""Painters of a `Drawing`: Plotly for what can be pointed at, matplotlib for PNG and SVG. The page has one of its own."""
