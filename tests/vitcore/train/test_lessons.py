"""Learning from two teachers: what the student sees, that it learns, what a batch is, and how a teacher is asked."""

import numpy as np
import pytest
import timm
import torch

from vitcore.train import lessons as room
from vitcore.train import model, teach
from vitcore.train.lessons import KeepPatches, LessonBatches, TwoTeachers, kept_share, scattered, windows
from vitcore.train.recipe import Recipe, RecipeError

SMALL = Recipe(
    task="lessons",
    image_px=32,
    patch_px=8,
    width=24,
    blocks=2,
    heads=3,
    steps=10,
    batch=8,
    keep_patches="0.25:0.5, 0.5:0.8",
)


@pytest.fixture(scope="module")
def lessons() -> teach.Lessons:
    """Lessons a student can learn by heart: each photo is one flat colour with one class."""
    rng = np.random.default_rng(0)
    count, patches = 16, 16
    label = np.arange(count) % 5
    pixels = np.broadcast_to((40 * label)[:, None, None, None], (count, 32, 32, 3)).astype(np.uint8)
    classes = np.stack([label, label + 5], 1).astype(np.int16)
    attention = rng.random((count, patches)).astype(np.float16)
    tokens = rng.integers(-90, 90, (count, patches, teach.COMPONENTS)).astype(np.int8)
    sure = np.tile(np.array([0.9, 0.1], np.float16), (count, 1))
    return teach.Lessons(pixels, classes, sure, tokens, attention, np.arange(count) % 2 == 0)


@pytest.mark.parametrize(("step", "share"), [(0, 0.25), (4, 0.25), (5, 0.5), (7, 0.5), (8, 1.0), (9, 1.0)])
def test_more_is_seen_towards_the_end(step, share):
    assert kept_share(SMALL, step) == share


@pytest.mark.parametrize("text", ["half", "0.5", "0.5:2", "0:0.5", "1.5:0.5", "0.5:0.5:0.5"])
def test_plans_that_are_none(text):
    with pytest.raises(RecipeError, match="share:until"):
        room.plan(text)


def test_scattered_patches_are_distinct_and_counted():
    kept = scattered(5, 16, 0.25)
    assert kept.shape == (5, 4)
    assert all(len(set(row.tolist())) == 4 for row in kept)


def test_a_window_is_a_square_of_neighbours():
    for row in windows(20, 16, 0.25):
        y, x = row // 4, row % 4
        assert sorted(set((y - y.min()).tolist())) == sorted(set((x - x.min()).tolist())) == [0, 1]


def test_no_patch_is_dropped_outside_training():
    keep = KeepPatches().eval()
    keep.share = 0.25
    assert keep(torch.zeros(2, 17, 3)).shape == (2, 17, 3)


def test_two_processes_share_one_batch(lessons):
    batches = LessonBatches(lessons, SMALL, 10)
    whole = batches.batch(3, 0, 1, 0, 1).pixels
    halves = [batches.batch(3, 0, 1, rank, 2).pixels for rank in (0, 1)]
    assert torch.equal(torch.cat(halves), whole)
    passes = [batches.batch(3, micro, 2, 0, 1).pixels for micro in (0, 1)]
    assert torch.equal(torch.cat(passes), whole)
    assert not torch.equal(batches.batch(4, 0, 1, 0, 1).pixels, whole)


def test_half_of_a_batch_has_tokens_to_learn(lessons):
    assert LessonBatches(lessons, SMALL, 10).batch(0, 0, 1, 0, 1).dense.sum() == 4


def test_mirrored_photos_have_mirrored_lessons(lessons):
    """A photo's tokens and attention follow it when it is mirrored."""
    batches = LessonBatches(lessons, SMALL, 10)
    plain = batches._of(np.arange(4), torch.tensor([False] * 4), 1.0, False)
    turned = batches._of(np.arange(4), torch.tensor([True] * 4), 1.0, False)
    torch.testing.assert_close(turned.pixels, plain.pixels.flip(3))
    torch.testing.assert_close(turned.attention.view(4, 4, 4), plain.attention.view(4, 4, 4).flip(2))
    torch.testing.assert_close(turned.tokens.view(4, 4, 4, -1), plain.tokens.view(4, 4, 4, -1).flip(2))


def test_it_learns(lessons):
    torch.manual_seed(0)
    module = TwoTeachers(model.build(SMALL, 10), SMALL)
    optim = torch.optim.AdamW(module.parameters(), 3e-3)
    batches, seen = LessonBatches(lessons, SMALL, 10), []
    for step in range(40):
        parts = module.train()(batches.batch(step, 0, 1, 0, 1))
        optim.zero_grad()
        parts["loss"].backward()
        optim.step()
        seen.append({k: v.item() for k, v in parts.items()})
    assert seen[-1]["label"] < 0.6 * seen[0]["label"] and seen[-1]["loss"] < 0.9 * seen[0]["loss"]


def test_the_two_ways_of_attending_agree(lessons, monkeypatch):
    """Two products (few tokens) and the fused kernel (many) give the same losses."""
    torch.manual_seed(0)
    module = TwoTeachers(model.build(SMALL, 10), SMALL).eval()
    batch = LessonBatches(lessons, SMALL, 10).batch(0, 0, 1, 0, 1)
    few = module(batch)
    monkeypatch.setattr(room, "FUSED_ABOVE", 0)
    many = module(batch)
    for name in few:
        torch.testing.assert_close(few[name], many[name], rtol=1e-4, atol=1e-5)


def test_photos_without_tokens_teach_labels_only(lessons):
    module = TwoTeachers(model.build(SMALL, 10), SMALL).eval()
    batch = LessonBatches(lessons, SMALL, 10)._of(np.array([1, 3]), torch.tensor([False] * 2), 1.0, False)
    parts = module(batch)
    assert parts["token"] == parts["attention"] == 0 and parts["label"] > 0


def test_first_block_attention_is_the_teachers():
    """Asked of all patches, it is what the teacher's own first block computes."""
    torch.manual_seed(0)
    teacher = timm.create_model(
        "vit_small_patch14_dinov2", img_size=28, num_classes=0, depth=1, embed_dim=24, num_heads=6
    )
    teacher.eval()
    pixels = torch.rand(2, 3, 28, 28) * 2 - 1
    found = teach.first_attention(teacher, pixels, torch.arange(4).expand(2, -1), heads=(0, 5))
    attn = teacher.blocks[0].attn
    mean, std = (torch.tensor(teacher.pretrained_cfg[n]).view(3, 1, 1) for n in ("mean", "std"))
    x = teacher.norm_pre(teacher._pos_embed(teacher.patch_embed((pixels * 0.5 + 0.5 - mean) / std)))
    with torch.no_grad():
        q, k, _ = attn.qkv(teacher.blocks[0].norm1(x)).view(2, 5, 3, 6, 4).permute(2, 0, 3, 1, 4)
        wanted = (q @ k.transpose(-2, -1) * attn.scale).softmax(-1)[:, (0, 5)]
    torch.testing.assert_close(found, wanted, atol=1e-5, rtol=1e-4)


def test_teaching_resumes_and_fills_every_array(tmp_path):
    """Two teachers of random weights look at the sample photos; broken off, the second go does the rest."""
    torch.manual_seed(0)
    labeller = timm.create_model("vit_tiny_patch16_224", depth=1).eval()
    looker = timm.create_model("vit_small_patch14_dinov2", img_size=224, num_classes=0, depth=1).eval()
    from vitcore.train.snapshots import SAMPLES

    photos = [(file.read_bytes(), i % 2 == 0) for i, file in enumerate(sorted(SAMPLES.glob("*.jpg"))[:4])]
    going = teach.teach(tmp_path, photos, labeller, looker, 32, 256, chunk=2)
    assert next(going) == 2
    going.close()
    assert list(teach.teach(tmp_path, photos, labeller, looker, 32, 256, chunk=2)) == [4]
    found = teach.open_lessons(tmp_path)
    assert found.dense.tolist() == [True, False, True, False]
    assert found.pixels.std(axis=(1, 2, 3)).min() > 5
    np.testing.assert_allclose(found.attention[::2].astype(float).sum(1), 1, atol=0.02)
    assert np.abs(found.tokens[::2]).max() > 20 and not found.tokens[1::2].any()
    assert (found.probabilities[:, 0] >= found.probabilities[:, 1]).all()


def test_classes_of_a_lessons_run_are_imagenets():
    from vitcore.train.conduct import lesson_photos

    assert len(lesson_photos().classes) == 1000 and not len(lesson_photos())
