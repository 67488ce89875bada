"""What backs a map's "what this cannot tell": how far it stays with its object, and how far without what the model learned."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app import texts
from app.state.jobs import map_tests

if TYPE_CHECKING:
    from vitcore.models.load_model import Vit


def measured_sentences(vit: Vit, name: str) -> str:
    """A map's shipped numbers, such as those of "rollout", in two sentences; "" where none ship."""
    found = map_tests.shipped_numbers(vit, name)
    if found is None:
        return ""
    facts = {name: f"{getattr(found, name):.2f}" for name in ("shift", "mirror", "jpeg", "random")}
    return texts.prose("common").fill("map measured", count=found.photos, others=found.random_photos, **facts)
