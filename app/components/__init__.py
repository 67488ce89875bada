"""Components of the app (Streamlit's, version 2): one folder each, a typed Python wrapper beside its html, css and js."""
