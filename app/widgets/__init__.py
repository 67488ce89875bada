"""Parts that several pages place: the model's card, a guess, outlier masking, tiles of positions."""
