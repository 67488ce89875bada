"""The app: the only place that imports streamlit."""
