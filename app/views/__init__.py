"""The pages, one package each; none knows another."""
