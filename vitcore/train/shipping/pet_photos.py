"""Oxford-IIIT Pet as its authors lay it out: photos of cats and dogs, which of both each shows, and where in it.

Parkhi et al., "Cats and Dogs", CVPR 2012: `images/NAME.jpg`, `annotations/list.txt` (name, class, species, breed) and
`annotations/trimaps/NAME.png` (1 the animal, 2 background, 3 not classified).
"""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

SPECIES = {"1": "cats", "2": "dogs"}


class Pet(NamedTuple):
    """One photo: its file, "cats" or "dogs", its breed's number, and the file of its trimap."""

    photo: Path
    kind: str
    breed: str
    trimap: Path


def list_pets(folder: Path, breeds: Sequence[str] = ()) -> list[Pet]:
    """Every photo that the list names, in its order, or those of some breeds, by the numbers that it gives them."""
    found = []
    for line in (folder / "annotations" / "list.txt").read_text(encoding="utf-8").splitlines():
        if line.strip() and not line.startswith("#"):
            name, breed, species, _ = line.split()
            trimap = folder / "annotations" / "trimaps" / f"{name}.png"
            found.append(Pet(folder / "images" / f"{name}.jpg", SPECIES[species], breed, trimap))
    return [pet for pet in found if not breeds or pet.breed in breeds]
