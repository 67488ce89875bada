"""A training filmed: frames of its model at steps well spaced, taken beside it; callbacks for Lightning and transformers."""
