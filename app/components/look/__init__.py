"""The Look page's picture: the photo and the paper's five pictures, linked."""
