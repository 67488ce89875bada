"""Analysis: one idea a file, pure functions of arrays and a Grid; no model, no file, no picture."""

from vitcore.lazy_names import offer_names

__getattr__, __dir__, __all__ = offer_names(__name__, {
    "": "attention_as_bytes attention_distance filter_patterns filters head_descriptions model_similarity outlier_tokens patches "
        "position_embeddings relevance rollout rollout_options training_curves_and_masks",
})  # fmt: skip
