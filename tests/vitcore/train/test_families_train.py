"""Each family of the paper trains with a recipe, leaves a model that loads, and shows what is defined for it."""

import numpy as np
import pytest

import vitcore
from tests.vitcore.train.trainer.test_run_training import quiet
from vitcore.architectures import paper_models
from vitcore.models.model_cards import ModelError
from vitcore.train.export import export
from vitcore.train.film_files import film_of_run
from vitcore.train.recipe import Recipe, RecipeError, with_changes
from vitcore.train.trainer.run_training import run_training

QUICK = {"steps": 2, "batch": 4, "snapshots": 1, "evaluate_every_steps": 0, "save_every_steps": 2}
FAMILIES = {
    "axial": {"family": "axial"}, "relative in every block": {"positions": "relative", "positions_at": "blocks"},
    "rows and columns, shared": {"positions": "2d", "positions_at": "shared", "readout": "mean"},
    "no positions, Muon": {"positions": "none", "optimiser": "muon", "mlp_ratio": 2.0},
    "masked, 2-D": {"positions": "2d", "positions_at": "blocks", "task": "masked"},
    "hybrid": {"resnet": "R", "image_px": 64, "patch_px": 32},
    "axial ResNet": {"family": "axial resnet", "resnet": "R50", "width": 8, "heads": 2, "image_px": 32, "patch_px": 32},
}  # fmt: skip


@pytest.mark.parametrize("name", FAMILIES)
def test_a_family_trains_and_loads(new_run, noise, name):
    folder = new_run(**QUICK, **FAMILIES[name])
    assert run_training(folder, quiet) == "finished"
    vit = vitcore.load(folder.path)
    rec = vitcore.record(vit, noise())
    assert np.isfinite(rec.logits).all() and vit.is_global == (name != "axial ResNet")
    if vit.is_global:
        assert np.allclose(rec.fused["mean"].sum(-1), 1, atol=1e-5) and rec.rollout().shape == (vit.grid.rows, vit.grid.cols)
        assert film_of_run(folder.id).arrays["rollout"].shape[2:] == (vit.grid.rows, vit.grid.cols)
    if name != "no positions, Muon":
        with pytest.raises(ModelError, match="timm"):
            export(folder.path, folder.path / "hub")


@pytest.mark.parametrize("changes, said", [
    ({"resnet": "R101"}, "not a hybrid's backbone"),
    ({"family": "resnet"}, "needs its depth"), ({"resnet": "R50/16"}, "16 px apart"),
    ({"family": "axial", "positions": "2d"}, "plain ViT"), ({"family": "axial", "resnet": "R"}, "no convolutions in front"),
    ({"family": "resnet", "resnet": "R50", "patch_px": 32, "width": 40, "heads": 1}, "multiple of 32"),
    ({"family": "axial", "task": "masked"}, "task masked"), ({"positions": "3d"}, "one of"),
    ({"task": "layers", "teacher": "x", "readout": "mean"}, "class token"),
])  # fmt: skip
def test_what_does_not_go_together_is_said(changes, said):
    with pytest.raises(RecipeError, match=said):
        with_changes(Recipe(), changes)


def test_every_name_of_the_paper_is_a_recipe():
    for family in paper_models.PAPER_MODELS.values():
        assert with_changes(Recipe(image_px=224), family.fields).patch_px == family.fields["patch_px"]
