"""Inside ViT: look inside a Vision Transformer, exactly as the paper does (arXiv 2010.11929).

    vit = vitcore.load()
    rec = vitcore.record(vit, "photo.jpg")
    vitcore.figures.rollout(rec.rollout(), rec.model_input.pixels, rec.grid)

Nothing heavy is imported until it is used.
"""

from typing import TYPE_CHECKING

from vitcore.lazy_names import offer_names
from vitcore.models.torchvision_ops import declare_before_timm

if TYPE_CHECKING:  # what mypy and editors see; at run time a name is imported when it is asked for
    from vitcore import analysis as analysis
    from vitcore import figures as figures
    from vitcore.faithfulness.deletion import DeletionCurve as DeletionCurve
    from vitcore.faithfulness.deletion import deletion_curves as deletion_curves
    from vitcore.forward.compare_models import compare as compare
    from vitcore.forward.compare_models import record_tokens as record_tokens
    from vitcore.forward.logit_lens import logit_lens as logit_lens
    from vitcore.forward.recording import Recording as Recording
    from vitcore.forward.recording import record as record
    from vitcore.forward.recordings.mean_distance import MeanDistance as MeanDistance
    from vitcore.forward.recordings.mean_distance import mean_distance as mean_distance
    from vitcore.forward.recordings.record_many import record_many as record_many
    from vitcore.forward.relevance import relevance as relevance
    from vitcore.grid import Grid as Grid
    from vitcore.images import PhotoError as PhotoError
    from vitcore.images import open_photo as open_photo
    from vitcore.interventions.activation_patching import ActivationPatching as ActivationPatching
    from vitcore.interventions.activation_patching import activation_patching as activation_patching
    from vitcore.interventions.activations import Activations as Activations
    from vitcore.interventions.activations import cache as cache
    from vitcore.interventions.component_switches import switch_off as switch_off
    from vitcore.interventions.component_switches import switchable_components as switchable_components
    from vitcore.interventions.edits import Edits as Edits
    from vitcore.interventions.edits import edit as edit
    from vitcore.interventions.head_ablation import head_ablation as head_ablation
    from vitcore.interventions.mean_activations import mean_activations as mean_activations
    from vitcore.interventions.steering import steer as steer
    from vitcore.interventions.steering import steering_direction as steering_direction
    from vitcore.interventions.steering import steering_sweep as steering_sweep
    from vitcore.models.assembly.wrap import wrap as wrap
    from vitcore.models.load_model import Vit as Vit
    from vitcore.models.load_model import inspect as inspect
    from vitcore.models.load_model import load as load
    from vitcore.models.model_cards import ModelError as ModelError
    from vitcore.tokens.patch_tokens import PatchTokens as PatchTokens
    from vitcore.tokens.patch_tokens import patch_tokens as patch_tokens
    from vitcore.tokens.pca import TokenPca as TokenPca
    from vitcore.tokens.pca import pca as pca
    from vitcore.tokens.segments import segments as segments
    from vitcore.tokens.similarity import Correspondences as Correspondences
    from vitcore.tokens.similarity import correspondences as correspondences
    from vitcore.tokens.similarity import cosine_similarity as cosine_similarity
    from vitcore.tokens.words_and_photos import match_words as match_words
    from vitcore.tokens.words_and_photos import text_tower as text_tower
    from vitcore.train.film.film_writer import film as film

declare_before_timm()

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = offer_names(__name__, {  # by the module that they are in; the first are modules themselves
    "": "analysis figures", "faithfulness.deletion": "DeletionCurve deletion_curves",
    "forward.compare_models": "compare record_tokens", "forward.logit_lens": "logit_lens", "forward.recording": "Recording record",
    "forward.recordings.mean_distance": "MeanDistance mean_distance", "forward.recordings.record_many": "record_many",
    "forward.relevance": "relevance", "grid": "Grid", "images": "PhotoError open_photo",
    "interventions.activation_patching": "ActivationPatching activation_patching",
    "interventions.activations": "Activations cache", "interventions.component_switches": "switch_off switchable_components",
    "interventions.edits": "Edits edit", "interventions.head_ablation": "head_ablation",
    "interventions.mean_activations": "mean_activations", "interventions.steering": "steer steering_direction steering_sweep",
    "models.assembly.wrap": "wrap", "models.load_model": "Vit inspect load", "models.model_cards": "ModelError",
    "tokens.patch_tokens": "PatchTokens patch_tokens", "tokens.pca": "TokenPca pca", "tokens.segments": "segments",
    "tokens.similarity": "Correspondences correspondences cosine_similarity", "tokens.words_and_photos": "match_words text_tower",
    "train.film.film_writer": "film",
})  # fmt: skip
