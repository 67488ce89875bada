"""IoU of segments of patch tokens, and of thresholds of maps, with outlines: by hand, and equal to scikit-learn's Jaccard score."""

from dataclasses import replace

import numpy as np
import pytest
from PIL import Image
from sklearn.metrics import jaccard_score

import vitcore
from vitcore.assets import asset_path
from vitcore.faithfulness.photo_masks import photos_with_masks, with_whole_photo_transform
from vitcore.models.model_cards import DEFAULT_MODEL
from vitcore.tokens import segment_iou
from vitcore.tokens.segment_iou import OutlinedPatches, read_segment_iou_csv, segment_iou_csv, segment_ious
from vitcore.tokens.segments import segments


def test_ious_by_hand():
    mask = np.zeros((8, 8), bool)
    mask[:4] = True  # the upper two of four patches
    masked = OutlinedPatches.of_mask((2, 2), mask)
    assert masked.counted.tolist() == [16] * 4 and masked.object.tolist() == [16, 16, 0, 0]
    assert masked.best_segment_iou(np.array([0, 0, 1, 1])) == 1 and masked.best_segment_iou(np.array([0, 1, 0, 1])) == 1 / 3
    assert masked.best_segment_iou(np.array([0, -1, 1, 1])) == 0.5, "a patch that is left out is in no segment"
    assert masked.best_threshold_iou(np.array([3.0, 1, 2, 0])) == pytest.approx(2 / 3), (
        "without the last of three the object is cut"
    )
    assert masked.best_threshold_iou(np.ones(4)) == 0.5, "equal values are not told apart"
    counted = np.ones((8, 8), bool)
    counted[4:, :4] = False  # "neither" of a trimap: the lower left patch
    assert OutlinedPatches.of_mask((2, 2), mask, counted).best_threshold_iou(np.array([3.0, 1, 2, 0])) == 1


@pytest.mark.parametrize("shape", [(3, 5), (16, 16), (37, 37)])
def test_ious_are_scikit_learns(shape):
    """Also of grids that do not divide the outline's pixels."""
    drawn = np.random.default_rng(sum(shape))
    mask, labels = drawn.random((224, 224)) < 0.3, drawn.integers(0, 4, shape)
    large = np.asarray(Image.fromarray(labels.astype(np.int32)).resize((224, 224), Image.Resampling.NEAREST))
    each = [jaccard_score(mask.ravel(), (large == one).ravel()) for one in range(4)]
    masked = OutlinedPatches.of_mask(shape, mask)
    assert masked.best_segment_iou(labels.ravel()) == pytest.approx(max(each), abs=1e-12)
    above = [jaccard_score(mask.ravel(), (large >= one).ravel()) for one in range(4)]
    assert masked.best_threshold_iou(labels.ravel()) == pytest.approx(max(above), abs=1e-12)


def test_segments_of_photos_with_outlines(make_vit, tmp_path, monkeypatch):
    """Mean over photos, of the segments that `segments` gives; the table comes back as it went."""
    vit = replace(make_vit(img_size=(32, 64)), labels=tuple("abcdefghij"))
    for name in ("images", "masks"):
        (tmp_path / name).mkdir()
    for i in range(2):
        Image.fromarray(np.random.default_rng(i).integers(0, 256, (32, 64, 3), np.uint8)).save(tmp_path / f"images/{i}.png")
        Image.fromarray(np.uint8([[255] * 24 + [0] * 40] * 32)).save(tmp_path / f"masks/{i}.png")
    rows = segment_ious(vit, photos_with_masks(tmp_path), layer=-1, count=3)
    assert [row.name for row in rows] == ["kmeans", "normalised_cut", "foreground", "rollout", "middle"]
    assert all(row.photos == 2 and row.low <= row.iou <= row.high for row in rows)
    assert [row.layer for row in rows] == [vit.blocks - 1] * 3 + [None] * 2, "maps are of no one layer"
    assert [row.segment_count for row in rows] == [3] + [None] * 4
    mask = np.zeros((vit.grid.rows, vit.grid.cols), bool)
    mask[:, : vit.grid.cols * 24 // 64] = True
    each, inside, seen = [], mask.ravel(), with_whole_photo_transform(vit)
    for i in range(2):
        photo = tmp_path / f"images/{i}.png"
        tokens, rollout = vitcore.patch_tokens(seen, photo), vitcore.record(seen, photo).rollout().ravel()
        labels = segments(tokens, count=3)[0]
        each.append([
            max(jaccard_score(inside, labels == one) for one in range(3)),
            jaccard_score(inside, segments(tokens, method="normalised_cut")[0] == 1),
            jaccard_score(inside, vitcore.pca(tokens).foreground()[0]),
            max(jaccard_score(inside, rollout >= one) for one in rollout),
        ])  # fmt: skip
    assert [row.iou for row in rows[:4]] == pytest.approx(np.mean(each, 0))
    few = segment_ious(vit, photos_with_masks(tmp_path), layer=-1, count=vit.grid.patches + 1)
    assert few[0].segment_count == vit.grid.patches, "as many as there were to make"
    some = replace(tokens, left_out=np.arange(vit.grid.patches)[None] < 2)
    monkeypatch.setattr(segment_iou, "patch_tokens", lambda *_, **__: some)
    few = segment_ious(vit, photos_with_masks(tmp_path), layer=-1, count=vit.grid.patches)
    assert few[0].segment_count == vit.grid.patches - 2, "those left out make none"
    monkeypatch.undo()
    back = read_segment_iou_csv(segment_iou_csv(rows, "made so"))
    assert [row[:5] for row in back] == [row[:5] for row in rows] and back[0].iou == pytest.approx(rows[0].iou, abs=1e-4)
    Image.fromarray(np.zeros((32, 64), np.uint8)).save(tmp_path / "masks/0.png")
    Image.fromarray(np.zeros((32, 64), np.uint8)).save(tmp_path / "masks/1.png")
    with pytest.raises(ValueError, match="no mask covers"):
        segment_ious(vit, photos_with_masks(tmp_path))


def test_the_table_that_ships_is_of_three_models():
    rows = read_segment_iou_csv((asset_path("maps") / "segments.csv").read_text(encoding="utf-8"))
    models = {row.model: {one.name for one in rows if one.model == row.model} for row in rows}
    assert set(models) == {DEFAULT_MODEL, "vit_tiny_patch16_224.augreg_in21k_ft_in1k", "vit_small_patch14_dinov2.lvd142m"}
    assert all(names == {"kmeans", "normalised_cut", "foreground", "rollout", "middle"} for names in models.values())
    assert {row.photos for row in rows if "dinov2" not in row.model} == {79} and len({row.photos for row in rows}) <= 2
    assert all(0 < row.low <= row.iou <= row.high < 1 for row in rows)
