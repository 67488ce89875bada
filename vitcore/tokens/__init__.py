"""What patch tokens hold: their principal components as colours, their similarity, their matches in other photos, segments."""
