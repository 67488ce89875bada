"""A chart that is drawn without Plotly."""
