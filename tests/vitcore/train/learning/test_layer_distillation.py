"""Learning layer by layer: targets are the teacher's own tensors, a copy of the teacher has no loss, a student comes near."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from PIL import Image

from tests.model_files import model_file
from tests.shipping.measure import hidden_state_errors
from tests.vitcore.train.conftest import losses_of
from vitcore.analysis.rollout import rollout
from vitcore.forward.recording import record
from vitcore.images import photo_from_image
from vitcore.models import load_model
from vitcore.train.learning import layer_distillation as room
from vitcore.train.learning.layer_distillation import (
    kept_patch_share,
    random_patches,
    run_sublayers,
    teacher_blocks_per_student_block,
)
from vitcore.train.learning.objectives import build_vit_with_training_loss, model_classes
from vitcore.train.learning.optimiser_and_weight_average import learning_rate_at_step, make_optimiser
from vitcore.train.recipe import Recipe, RecipeError, with_changes
from vitcore.train.trainer.run_training import run_training

SHAPE = {"img_size": 32, "patch_size": 8, "embed_dim": 24, "depth": 4, "num_heads": 3, "num_classes": 7}
STUDENT = Recipe(
    task="layers", image_px=16, patch_px=4, width=24, blocks=4, heads=3, steps=10, batch=4, forced=0.5,
    keep_patches="0.5:0.5", weight_decay=0.0, precision="fp32", teacher="-",
)  # fmt: skip


@pytest.fixture(scope="module")
def teacher(tmp_path_factory):
    """A random ViT at 32 px in 4 × 4 patches with 7 classes."""
    file = tmp_path_factory.mktemp("teacher") / "teacher.safetensors"
    model_file(file, **SHAPE)
    return str(file)


def learner(teacher, **changes):
    recipe = with_changes(STUDENT, {"teacher": teacher} | changes)
    return build_vit_with_training_loss(recipe, model_classes(recipe, ()))


def picture(pixels):
    return photo_from_image(Image.fromarray(pixels), "picture")


def batch(step=0, px=16):
    torch.manual_seed(1)
    return SimpleNamespace(pixels=torch.rand(4, 3, px, px) * 2 - 1, step=step)


@pytest.mark.parametrize(
    ("of", "to", "wanted"), [(4, 4, [[0], [1], [2], [3]]), (6, 3, [[0, 1], [2, 3], [4, 5]]), (5, 2, [[0, 1], [2, 3, 4]])]
)
def test_every_block_of_the_teacher_has_one_pupil(of, to, wanted):
    assert [list(span) for span in teacher_blocks_per_student_block(of, to)] == wanted


@pytest.mark.parametrize(("step", "share"), [(0, 0.5), (4, 0.5), (5, 1.0), (9, 1.0)])
def test_more_is_seen_towards_the_end(step, share):
    assert kept_patch_share(STUDENT, step) == share


@pytest.mark.parametrize("text", ["half", "0.5", "0.5:2", "0:0.5", "1.5:0.5", "0.5:0.5:0.5"])
def test_plans_that_are_none(text):
    with pytest.raises(RecipeError, match="share:until"):  # before anything is trained
        with_changes(STUDENT, {"keep_patches": text})
    assert with_changes(Recipe(), {"keep_patches": text}).keep_patches == text, "where it is not used, an old run still opens"


def test_scattered_patches_are_distinct_and_counted():
    kept = random_patches(5, 16, 0.25)
    assert kept.shape == (5, 4)
    assert all(len(set(row.tolist())) == 4 for row in kept)


def test_the_two_halves_are_the_block_and_its_attention_the_recording(teacher):
    vit = load_model.load(teacher)
    rng = np.random.default_rng(0)
    rec = record(vit, picture(rng.integers(0, 255, (32, 32, 3), dtype=np.uint8)), maps=[3])
    with torch.no_grad():
        x = room.embed_pixels(vit.module, torch.tensor(rec.model_input.pixels).permute(2, 0, 1)[None].float() / 255 * 4 - 2)[1]
        for block in vit.module.blocks[:-1]:
            x = block(x)
        work = run_sublayers(vit.module.blocks[-1], x)
        torch.testing.assert_close(work.block_output, vit.module.blocks[-1](x), rtol=1e-5, atol=1e-5)
    weights = work.log_weights.exp()[0].numpy()
    np.testing.assert_allclose(weights, rec.maps[vit.blocks - 1].astype(np.float32), atol=2e-3)
    np.testing.assert_allclose(weights.sum(-1), 1, atol=1e-5)


def test_targets_are_the_teachers_own_tensors(teacher):
    """What the student is held to is what timm's own forward pass makes of the photo as the teacher wants it."""
    module, given = learner(teacher, keep_patches=""), batch()
    seen: dict[str, torch.Tensor] = {}
    taught = module.teacher.module
    hooks = []
    for i, block in enumerate(taught.blocks):
        for name, part in (("attn", block.attn), ("mlp", block.mlp), ("block", block)):
            hooks.append(part.register_forward_hook(lambda m, a, out, key=(i, name): seen.__setitem__(key, out)))
    with torch.no_grad():
        logits = taught(module.teacher.adapt_pixels(given.pixels))
    for hook in hooks:
        hook.remove()
    everything = torch.arange(16).expand(4, -1)
    _, work, wanted = module._run_teacher(given.pixels, everything, slice(None))
    torch.testing.assert_close(wanted, logits, rtol=1e-4, atol=1e-5)
    for i, part in enumerate(work):
        torch.testing.assert_close(part.attention_output, seen[i, "attn"], rtol=1e-4, atol=1e-5)
        torch.testing.assert_close(part.mlp_output, seen[i, "mlp"], rtol=1e-4, atol=1e-5)
        torch.testing.assert_close(part.block_output, seen[i, "block"], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("step", [0, 9])
def test_a_student_that_is_the_teacher_has_no_loss(teacher, step):
    module = learner(teacher, image_px=32, patch_px=8)
    module.vit.load_state_dict(module.teacher.module.state_dict())
    module.vit.pretrained_cfg |= {"mean": module.teacher.vit.mean, "std": module.teacher.vit.std}
    parts = module(batch(step, 32))
    assert all(abs(value.item()) < 1e-6 for value in parts.values()), parts
    assert max(hidden_state_errors(module, [batch(px=32).pixels])) < 1e-10


def test_forced_blocks_learn_apart_from_one_another(teacher):
    """A broken first block spoils nobody else's loss while forced, and everybody's once the student is free."""
    module = learner(teacher, image_px=32, patch_px=8)
    module.vit.load_state_dict(module.teacher.module.state_dict())
    module.vit.pretrained_cfg |= {"mean": module.teacher.vit.mean, "std": module.teacher.vit.std}
    with torch.no_grad():
        module.vit.blocks[0].mlp.fc2.weight.zero_()
    forced, free = module(batch(0, 32)), module(batch(9, 32))
    assert forced["layers"].item() == pytest.approx(1 / 8, rel=0.3)  # one of eight parts adds nothing that it should
    assert forced["logits"].item() < 1e-6 < 1e-3 < free["logits"].item()


@pytest.mark.parametrize(("step", "changes"), [
    (0, {"width": 12}), (0, {"blocks": 2}), (0, {"blocks": 2, "width": 12, "heads": 2}), (0, {"keep_patches": ""}), (0, {}),
    (9, {"blocks": 2, "width": 12, "heads": 2}), (9, {"keep_patches": ""}),
], ids=str)  # fmt: skip
def test_smaller_students_learn_too(teacher, changes, step):
    module = learner(teacher, optimiser="adamw", lr_peak=1e-2, warmup_steps=0, decay="constant", **changes)
    losses = losses_of(lambda: module(batch(step))["loss"], make_optimiser(module.recipe, module), 18)
    assert losses[-1] < 0.75 * losses[0] and np.isfinite(losses).all()
    assert (module.carry is None) == (changes.get("width", 24) == 24)


def test_larger_students_and_odd_teachers_are_refused(teacher, tmp_path):
    with pytest.raises(RecipeError, match="larger than its teacher"):
        learner(teacher, blocks=5)
    with pytest.raises(RecipeError, match="larger than its teacher"):
        learner(teacher, width=48)
    file = tmp_path / "pooled.safetensors"
    model_file(file, **SHAPE | {"class_token": False, "global_pool": "avg"})
    with pytest.raises(RecipeError, match="class token"):
        learner(str(file))


@pytest.mark.parametrize("prefix", [{"reg_tokens": 2}, {"reg_tokens": 1, "init_values": 0.1}], ids=str)
def test_a_teacher_with_registers_teaches_what_the_student_has(tmp_path, prefix):
    file = tmp_path / "registers.safetensors"
    model_file(file, **SHAPE | prefix)
    for step in (0, 9):
        parts = learner(str(file))(batch(step))
        assert np.isfinite([v.item() for v in parts.values()]).all() and parts["attention"].item() >= 0
    assert learner(str(file)).common_tokens(torch.arange(19).view(1, 19, 1))[0, :3, 0].tolist() == [
        0, 1 + prefix["reg_tokens"], 2 + prefix["reg_tokens"],
    ]  # fmt: skip


def test_the_second_teachers_class_attention_is_followed_in_the_end(teacher, tmp_path):
    file = tmp_path / "looker.safetensors"
    model_file(file, seed=5, **SHAPE | {"num_classes": 0})
    module = learner(teacher, looker=str(file), looker_from=0.8, looker_share=0.5, looker_weight=100.0)
    assert "looker" not in module(batch(0)) and "looker" not in module(batch(7)) and "looker" in module(batch(8))
    given = batch(9)
    given.pixels *= 0.3  # bicubic enlargement then stays within what bytes can hold
    wanted = room.teacher_class_attention(module.attention_teacher, given.pixels, torch.arange(16).expand(4, -1))
    vit = module.attention_teacher.vit
    fused = [
        record(vit, picture(image)).fused["mean"][-1][0, 1:]
        for image in _as_bytes(module.attention_teacher.adapt_pixels(given.pixels), vit)
    ]
    np.testing.assert_allclose(wanted.exp().numpy(), [row / row.sum() for row in fused], atol=1e-2)
    optim, losses = torch.optim.AdamW(module.parameters(), 3e-3), []
    for _ in range(40):
        parts = module(batch(9))
        optim.zero_grad()
        parts["loss"].backward()
        optim.step()
        losses.append([parts[name].item() for name in ("looker", "rollout")])
    assert losses[-1][0] < 0.3 * losses[0][0] and losses[-1][1] < 0.5 * losses[0][1]


def test_the_rollout_that_is_taught_is_the_rollout_that_is_drawn(teacher):
    """The divergence it is given is that of vitcore's own rollout."""
    module = learner(teacher, looker=teacher, keep_patches="")
    given = batch(9)
    kept = torch.arange(16).expand(4, -1)
    wanted = room.teacher_class_attention(module.attention_teacher, given.pixels, kept).exp().numpy()
    with torch.no_grad():
        part, fused = module(given), torch.stack(module._fused, 1).numpy()
        part |= module._attention_teacher_losses(given.pixels, kept, module._fused)
    drawn = np.stack([rollout(one, prefix=1)[1:] for one in fused])
    drawn /= drawn.sum(1, keepdims=True)
    assert part["rollout"].item() == pytest.approx((wanted * np.log(wanted / drawn)).sum(1).mean(), rel=1e-3)


def _as_bytes(x, vit):
    mean, std = (torch.tensor(v).view(3, 1, 1) for v in (vit.mean, vit.std))
    return ((x * std + mean) * 255).round().clamp(0, 255).permute(0, 2, 3, 1).to(torch.uint8).numpy()


def test_two_halves_of_a_run_have_a_schedule_each():
    recipe = with_changes(
        STUDENT, {"steps": 100, "forced": 0.6, "warmup_steps": 10, "lr_peak": 1.0, "free_lr": 0.2, "decay": "linear"}
    )
    assert [round(learning_rate_at_step(recipe, s), 3) for s in (0, 9, 10, 35, 60, 69, 85)] == [0.1, 1, 1, 0.5, 0.02, 0.2, 0.1]
    assert learning_rate_at_step(recipe, 59) < 0.03 and learning_rate_at_step(recipe, 99) < 0.01


@pytest.mark.parametrize("kind", ["adamw", "muon"])
def test_positions_have_a_rate_of_their_own(teacher, kind):
    module = learner(teacher, optimiser=kind, place_lr=5.0, adam_lr=0.5)
    groups = {id(p): g for g in make_optimiser(module.recipe, module).param_groups for p in g["params"]}
    assert {id(p) for p in module.parameters()} == set(groups)
    assert groups[id(module.vit.pos_embed)]["times"] == groups[id(module.vit.cls_token)]["times"] == 5.0
    rest = 0.5 if kind == "muon" else 1.0
    assert groups[id(module.vit.head.weight)].get("times", 1.0) == rest
    assert groups[id(module.vit.blocks[0].mlp.fc1.weight)].get("times", 1.0) == 1.0


def test_a_run_goes_on_exactly_where_it_stopped(new_run, teacher):
    """Both halves, a stop in each: the weights of a run in pieces are those of a run in one."""
    settings = {"task": "layers", "teacher": teacher, "steps": 6, "forced": 0.5, "keep_patches": "0.5:0.7",
                "blocks": 4, "optimiser": "muon", "average_decay": 0.0, "evaluate_most": 20}  # fmt: skip
    whole = new_run("whole", **settings)
    assert run_training(whole, lambda record: None) == "finished"
    pieces = new_run("pieces", **settings)
    for stop in (2, 4, 6):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("vitcore.train.trainer.run_training.any_process_stops", lambda *a, stop=stop: Steps.now >= stop)
            run_training(pieces, Steps.count)
    first, second = (load_model.load(folder.path).module.state_dict() for folder in (whole, pieces))
    assert all(torch.equal(first[name], second[name]) for name in first)
    assert load_model.load(whole.path).labels == load_model.load(teacher).labels


class Steps:
    """The last step that was shown."""

    now = 0

    @classmethod
    def count(cls, record):
        cls.now = record["step"]


def test_going_on_from_a_trained_student_keeps_its_head(teacher, tmp_path):
    start = tmp_path / "start.safetensors"
    trained = model_file(start, seed=9, **SHAPE | {"img_size": 16, "patch_size": 4})
    module = learner(teacher, start_from=str(start))
    torch.testing.assert_close(module.vit.head.weight, trained.head.weight)


def test_rollout_of_a_copy_is_the_teachers(teacher):
    """The pictures follow from attention: a student that attends like its teacher has its rollout."""
    vit, rng = load_model.load(teacher), np.random.default_rng(3)
    rec = record(vit, picture(rng.integers(0, 255, (32, 32, 3), dtype=np.uint8)))
    with torch.no_grad():
        x = room.embed_pixels(vit.module, torch.tensor(rec.model_input.pixels).permute(2, 0, 1)[None].float() / 255 * 4 - 2)[1]
        fused = []
        for block in vit.module.blocks:
            work = run_sublayers(block, x)
            fused.append(work.log_weights.exp().mean(1)[0].numpy())
            x = work.block_output
    np.testing.assert_allclose(rollout(np.stack(fused), prefix=1), rollout(rec.fused["mean"], prefix=1), atol=1e-5)
