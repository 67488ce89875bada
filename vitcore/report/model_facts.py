"""What a report says of a model whatever the photo: its filters, its positions, and which weights they are exactly."""

import hashlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vitcore.analysis.filters import PrincipalComponents, components_as_picture, principal_components
from vitcore.analysis.position_embeddings import correlation_with_distance, position_similarity
from vitcore.models import load_model
from vitcore.models.load_model import Vit


@dataclass(frozen=True, eq=False)
class ModelFacts:
    """Computed once a model and shared by the reports of all its photos."""

    digest: str  # SHA-256 over names and values of all weights
    params: int
    components: PrincipalComponents | None  # of the embedding filters, or of a hybrid's root convolution
    cosine: NDArray[np.float64] | None  # (N, N) of the position embeddings
    correlation: float | None  # of cosine with 2-D distance

    def filter_tiles(self, count: int) -> NDArray[np.uint8]:
        """The first `count` components (K, P, P, 3) as bytes, zero at mid-grey."""
        assert self.components is not None
        return components_as_picture(self.components.vectors[:count])


def collect_model_facts(vit: Vit) -> ModelFacts:
    """What there is to say of a model before it has seen a photo."""
    kernel, table = load_model.first_layer_filters(vit), load_model.position_embeddings(vit)
    cosine = None if table is None else position_similarity(table)
    return ModelFacts(
        weights_digest(vit),
        sum(p.numel() for p in vit.module.parameters()),
        None if kernel is None else principal_components(kernel),
        cosine,
        None if cosine is None else correlation_with_distance(cosine, vit.grid),
    )


def weights_digest(vit: Vit) -> str:
    """SHA-256 over the names and values of a model's weights as they are in memory, in the order of their names."""
    import torch

    digest = hashlib.sha256()
    for name, tensor in sorted(vit.module.state_dict().items()):
        digest.update(f"{name} {tuple(tensor.shape)} {tensor.dtype}".encode())
        digest.update(tensor.detach().cpu().contiguous().flatten().view(torch.uint8).numpy().data)
    return digest.hexdigest()
