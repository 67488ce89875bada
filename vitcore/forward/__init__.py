"""One forward pass, watched: the tape, the recording every picture reads, the numbers inside a block, the logit lens, relevance."""
