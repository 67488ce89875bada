"""Steering: it is plain PyTorch with a vector added after a block, nothing at scale 0, and the other photo's pass at scale 1."""

import numpy as np
import pytest
import torch

import vitcore
from tests.vitcore.interventions.conftest import answer, inputs_for, make_kind
from vitcore.module_swaps import with_hooks

CLOSE = {"rtol": 1e-5, "atol": 1e-5}
KINDS = ("plain", "registers", "rotary", "mean", "BEiT", "attention beside MLP", "two attentions", "rectangle")


@pytest.mark.parametrize("kind", KINDS)
def test_steering_is_a_vector_added_by_a_plain_hook(kind):
    vit = make_kind(kind)
    x, layer, weights = inputs_for(vit)[:1], vit.blocks - 2, [one.clone() for one in vit.module.parameters()]
    direction = torch.randn(vit.grid.tokens, vit.structure.numbers // vit.structure.positions)
    plain = with_hooks(vit.module, "out", **{f"blocks.{layer}": lambda block, given, out: out - 1.5 * direction})
    assert torch.equal(answer(vitcore.steer(vit, direction, layer, 0), x), answer(vit, x)), "scale 0 changes nothing"
    with torch.no_grad():
        torch.testing.assert_close(answer(vitcore.steer(vit, direction, layer, -1.5), x), plain(x), **CLOSE)
    swept = vitcore.steering_sweep(vit, x, direction, layer, [0, -1.5, 2])
    one_by_one = torch.cat([answer(vitcore.steer(vit, direction, layer, scale), x) for scale in (0, -1.5, 2)])
    torch.testing.assert_close(torch.from_numpy(swept), one_by_one, **CLOSE)
    assert all(torch.equal(a, b) for a, b in zip(weights, vit.module.parameters(), strict=True)), "the model stays as it is"
    some = vitcore.steer(vit, direction, layer, 1, token="patches")
    with vitcore.edit(vit) as e:
        e.resid(layer).add(direction[vit.grid.prefix :], token="patches")
    torch.testing.assert_close(answer(some, x), answer(e.vit, x), **CLOSE)


def test_a_direction_between_photos_leads_from_one_to_the_other():
    vit = make_kind("registers")
    both, layer = inputs_for(vit)[:2], 1
    one, other = both[:1], both[1:]
    direction = vitcore.steering_direction(vit, towards=other, away=one, layer=layer, by_token=True)
    torch.testing.assert_close(answer(vitcore.steer(vit, direction, layer), one), answer(vit, other), **CLOSE)
    kept = vitcore.cache(vit, both, names=["resid_post"], layers=[layer])["resid_post", layer]
    torch.testing.assert_close(direction, kept[1] - kept[0], **CLOSE)
    mean, prefix = vitcore.steering_direction(vit, other, one, layer), vit.grid.prefix
    torch.testing.assert_close(mean[:prefix], direction[:prefix], **CLOSE)
    torch.testing.assert_close(mean[prefix:], direction[prefix:].mean(0).expand(vit.grid.patches, -1), **CLOSE)
    group = vitcore.steering_direction(vit, both, one, layer)
    torch.testing.assert_close(group, mean / 2, **CLOSE)


def test_what_can_not_be_steered_is_refused():
    vit = make_kind("plain")
    x = inputs_for(vit)
    with pytest.raises(ValueError, match="takes up"):
        vitcore.steer(vit, torch.zeros(3, 5), 0)
    with pytest.raises(ValueError, match="layer"):
        vitcore.steer(vit, torch.zeros(vit.grid.tokens, 24), vit.blocks)
    with pytest.raises(ValueError, match="one photo"):
        vitcore.steering_sweep(vit, x.expand(2, *x.shape[1:]) if len(x) == 1 else x, torch.zeros(24), 0, [1])


def test_the_shell_steers_as_the_library_does(shipped, tmp_path, capsys):
    import json

    from vitcore.__main__ import main
    from vitcore.assets import asset_path

    cat, espresso = (str(asset_path(f"samples/{name}.jpg")) for name in ("cat", "espresso"))
    asked = ["steer", cat, "--towards", espresso, "--layer", "6", "--scales", "0,2", "--out", str(tmp_path)]
    assert main([*asked, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    direction = vitcore.steering_direction(shipped, towards=espresso, away=cat, layer=6)
    for row in said["steps"]:
        (label, probability), *_ = vitcore.record(vitcore.steer(shipped, direction, 6, row["scale"]), cat).top_classes(1)
        assert (row["class"], said["layer"]) == (label, 6) and row["probability"] == pytest.approx(probability, abs=1e-4)
    assert main(asked) == 0 and len(capsys.readouterr().out.splitlines()) == 4
    assert np.load(tmp_path / "steered.npz")["logits"].shape == (2, 1000) and (tmp_path / "steered.png").exists()
    assert main([*asked[:-4], "--scales", "far"]) == 2 and "--scales are numbers" in capsys.readouterr().err
