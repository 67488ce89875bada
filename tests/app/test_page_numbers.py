"""The numbers on the pages are those of vitcore, to the last digit shown."""

import re

import numpy as np
import pytest
from scipy.stats import spearmanr
from visitor import App

import vitcore
from app import texts
from app.shell import page_switch
from app.state.jobs import average_distance
from app.state.models import model_weights
from app.state.photos import sample_photos
from app.state.recordings.distance_table import DistanceTable
from app.views.distance import distance_sentences
from vitcore.analysis import attention_distance, filter_patterns, filters, patches, position_embeddings
from vitcore.grid import Grid
from vitcore.models import load_model
from vitcore.models.model_cards import DEFAULT_MODEL

DISTANCE, PATCHES, POSITIONS = (texts.prose(page, "en") for page in ("distance", "patches", "positions"))


def sample(name: str) -> bytes:
    return (sample_photos.SAMPLES / f"{name}.jpg").read_bytes()


@pytest.mark.parametrize("settings", [
    {}, {"fusion": "max", "discard": 60}, {"fusion": "min", "residual": 20, "first": 4}, {"ask": True, "query": 33},
], ids=str)  # fmt: skip
def test_the_rollout_on_the_page_is_vitcores(settings, first):
    app = App("rollout").set(**{k: v for k, v in settings.items() if k != "query"})
    if "query" in settings:
        app.set(patch=settings["query"])
    expected = first.rollout(
        first.grid.prefix + settings["query"] if "query" in settings else None, settings.get("fusion", "mean"),
        discard_ratio=settings.get("discard", 0) / 100, residual=settings.get("residual", 50) / 100,
        first_block=settings.get("first", 0),
    )  # fmt: skip
    told = app.fine().component("gathered")
    assert np.allclose(told["values"], 100 * expected.ravel(), atol=1e-3)
    assert told["selected"] == settings.get("query")


@pytest.fixture(scope="module")
def first(shipped) -> vitcore.Recording:
    """Of the photo that pages begin with."""
    return vitcore.record(shipped, sample(sample_photos.sample_photo_rows()[0]["id"]), fusions=("mean", "max", "min"))


def test_the_distances_on_the_page_are_vitcores(first):
    app = App("distance").fine()
    for way, px in (("drop", first.distance_px), ("renormalise", first.distance_renormalised_px)):
        table = app.set(cls=way).at.dataframe[0].value
        (first_px, *_, last_px), last = px.mean(1), len(px) - 1
        assert first_px < last_px, "else another sentence holds"
        told = DISTANCE["depth grows"].format(first_px=f"{first_px:.1f}", last_px=f"{last_px:.1f}", last=last)
        assert told in app.text("markdown")
        assert np.allclose(table.iloc[:, 1:].to_numpy(), np.c_[px.mean(1), px], atol=0.051), "each layer's mean, then its heads"


@pytest.mark.parametrize(("last", "key"), [(20.0, "grows"), (10.0, "falls"), (15.01, "same")])
def test_whether_distance_grows_with_depth_is_computed(last, key):
    said = distance_sentences.depth_sentence(15.0, last, 3, DISTANCE)
    assert said == DISTANCE[f"depth {key}"].format(first_px="15.0", last_px=f"{last:.1f}", last=3)


def below_the_title(app: App) -> str:
    """The line below the title of the page's first chart."""
    return next(said for said in app.sentences("caption") if re.search(r"layer 0: \d", said))


def test_the_average_over_photos_is_the_mean_of_each(shipped):
    names = ["cat", "rocket"]
    app = App("distance", over="folder").fine()
    assert len(app.at.info) == 1 and not app.charts()
    picker = app.at.get_by_key("folder")
    for name in names:
        picker.upload(f"{name}.jpg", sample(name))
    picker.upload("text.jpg", b"I am not a photograph.")
    assert "text.jpg" in app.run().fine().text("caption")
    expected = np.mean([vitcore.record(shipped, sample(name)).distance_px for name in names], 0)
    assert np.allclose(app.at.dataframe[0].value.iloc[:, 2:].to_numpy(), expected, atol=0.051)
    assert "2 images" in below_the_title(app)


THREE = ("cat", "rocket", "crab")


def test_the_average_can_be_stopped_and_goes_on_and_says_which_head_changes_most_from_photo_to_photo(monkeypatch, shipped):
    monkeypatch.setattr(sample_photos, "sample_files", lambda: [(f"{name}.jpg", sample(name)) for name in THREE])
    go_on = average_distance.average_over_photos
    with monkeypatch.context() as patch:

        def stopped_after_one(vit, photos, mean):
            yield next(go_on(vit, photos, mean))
            mean.stop()  # what the button does, in the run that interrupts this one

        patch.setattr(average_distance, "average_over_photos", stopped_after_one)
        app = App("distance").set(over="samples").fine()
    assert "1 image" in below_the_title(app)
    assert "1 image" in below_the_title(app.run().fine()), "stopped means stopped"
    assert "3 images" in below_the_title(app.press("Go on"))
    px = np.stack([vitcore.record(shipped, sample(name)).distance_renormalised_px for name in THREE]).astype(float)
    block, head = np.unravel_index(px.std(0).argmax(), px.shape[1:])
    mean, spread = (f"{of_three[block, head]:.1f}" for of_three in (px.mean(0), px.std(0)))
    assert DISTANCE["changes most"].format(block=block, head=head, mean=mean, spread=spread) in app.text("markdown")


def test_a_photo_in_hand_is_not_added_once_the_average_is_stopped_and_two_runs_count_it_once(monkeypatch, shipped):
    """The run that the button interrupts is in the middle of a photo, beside the run that says how many there are; and a page
    that begins anew while its former run is still looking at a photo: the former one gives up."""
    photos, record = sample_photos.sample_files()[:4], vitcore.record
    mean = average_distance.AverageDistance(len(photos))
    former = average_distance.average_over_photos(shipped, photos, mean)
    assert next(former) == 1
    assert list(average_distance.average_over_photos(shipped, photos, mean)) == [2, 3, 4]
    assert list(former) == [] and (mean.done_count, mean.averaged_count) == (4, 4)
    mean = average_distance.AverageDistance(2)

    def stopped_meanwhile(*given, **how):
        if mean.done_count == 1:
            mean.stop()
        return record(*given, **how)

    monkeypatch.setattr("vitcore.forward.recording.record", stopped_meanwhile)
    assert list(average_distance.average_over_photos(shipped, photos[:2], mean)) == [1]
    assert (mean.done_count, mean.averaged_count) == (1, 1)


def bars(chart: dict) -> list[tuple[str, float]]:
    """The answer a chart of the top 5 tells: label as written on it, share in percent."""
    texts = [note["text"].partition(" <b>")[0] for note in chart["layout"]["annotations"]]
    return list(zip(texts, chart["data"][0]["x"], strict=True))


@pytest.mark.parametrize("kind", [DEFAULT_MODEL, "registers", "wide"])
def test_shuffled_patches_with_their_positions_give_the_same_answer(kind, kinds, offer):
    offer({k: v for k, v in kinds.items() if k == kind})
    app = App("patches", model=kind, shuffle="true").fine()
    titles = "Patches in", PATCHES["positions stay"], PATCHES["positions move"]
    ordered, scrambled, moved = (bars(app.chart(title)) for title in titles)
    assert [label for label, _ in ordered] == [label for label, _ in moved]
    assert np.allclose([p for _, p in ordered], [p for _, p in moved], atol=1e-2)
    assert scrambled != ordered
    assert "the same, up to rounding" in app.text("caption")
    order = app.component("split")["order"]
    assert sorted(order) == list(range(len(order))) and order != sorted(order)
    other = app.set(seed=5).component("split")["order"]
    assert other != order


def test_the_filters_and_positions_on_the_page_are_vitcores(shipped):
    app = App("filters", components="12").fine()
    found = filters.principal_components(load_model.patch_kernel(shipped))
    assert np.allclose(model_weights.filter_components(DEFAULT_MODEL).variance, found.variance)
    assert app.chart("The first 12")
    position = App("positions", position="40").fine()
    cosine = position_embeddings.position_similarity(load_model.position_embeddings(shipped))
    beside = {"above": 24, "below": 56, "left": 39, "right": 41}  # of 16 columns
    told = ", ".join(f"{way} (position {there}) {cosine[40, there]:.3f}" for way, there in beside.items())
    assert POSITIONS["beside"].format(beside=told) in position.sentences("markdown")
    tiles = cosine.reshape(16, 16, 16, 16)
    straight, slanting = (
        np.mean(
            [
                tiles[r, c, r + down, c + along]
                for down, along in ways
                for r in range(16 - down)
                for c in range(max(0, -along), 16 - max(0, along))
            ]
        )
        for ways in (((0, 5), (5, 0)), ((3, 4), (4, 3), (3, -4), (4, -3)))
    )
    assert straight > slanting, "positions as far apart: those of a row or column are more alike"
    print_minus = {"same": f"{straight:.2f}".replace("-", "−"), "other": f"{slanting:.2f}".replace("-", "−")}
    told = POSITIONS["row and column"].format(steps=5, **print_minus)
    assert told in position.sentences("markdown") and position.component("touch")["counted"]
    high, one, other = max((cosine[p, q], p, q) for p in range(256) for q in range(p + 1, 256))
    assert POSITIONS["most similar pair"].format(one=one, other=other, cosine=f"{high:.3f}") in position.sentences("markdown")
    number = position.at.metric[0].value
    assert number.startswith("−"), "print's minus sign, as in every sentence here"
    number = float(number.replace("−", "-"))
    assert number == pytest.approx(position_embeddings.correlation_with_distance(cosine, shipped.grid), abs=0.006)


def test_whether_positions_have_a_mirror_pattern_is_said(shipped, tiny, offer):
    """Of the whole grid, in a mean over all pairs that are worked out one by one here."""
    offer(tiny=tiny)
    grid, cosine = shipped.grid, position_embeddings.position_similarity(load_model.position_embeddings(shipped))
    far = [(p, q) for p in range(grid.patches)
           if (q := p - 2 * (p % grid.cols) + grid.cols - 1) and abs(p % grid.cols - q % grid.cols) >= grid.cols / 2]  # fmt: skip
    alike = np.mean([cosine[p, q] for p, q in far])
    (said,) = [said for said in App("positions").fine().sentences("markdown") if said.startswith("Left and right are mirrored")]
    assert f"cosine {alike:.2f} on average" in said
    said = App("positions", model="tiny").fine().sentences("markdown")
    assert POSITIONS["mirror none"].format(least=position_embeddings.MIRROR) in said and not any("mirrored" in one for one in said)


def test_the_patch_on_the_page_is_the_patch(first):
    app = App("patches", patch="37").fine()
    left, top, right, bottom = first.grid.box_px(37)
    numbers = first.model_input.pixels[top:bottom, left:right].ravel()
    assert app.component("numbers")["text"].split() == [str(v) for v in numbers]
    assert "Patch 37: row 2, column 5" in app.text("markdown")
    assert "N = HW/P² = 128·128 / 8² = **256 patches**" in app.text("markdown")
    assert "position in the sequence is 38. The sequence runs from 0 to 256; position 0 is the class token" in app.text("caption")


def test_the_page_names_the_nearest_head_among_the_patches_and_opens_it(first):
    app = App("distance").fine()
    drawn, among = first.distance_px[0], first.distance_renormalised_px[0]
    near, far = int(among.argmin()), int(among.argmax())
    assert (near, far) == (drawn.argmin(), drawn.argmax()), "else both are named"
    told = {"low": drawn[near], "high": drawn[far], "near": among[near], "far": among[far]}
    told = {f"{one}_px": f"{px:.1f}" for one, px in told.items()} | {"where": DISTANCE["first layer"], "near": near, "far": far}
    assert DISTANCE["reach dropped alike"].format(**told) in app.text("markdown")
    address = {"layer": "2", "one_head": "1"}
    app.at.session_state[page_switch.SWITCH_STATE] = page_switch.PageSwitch("distance", "attention", address)  # a dot was touched
    app.run().fine()
    assert (app.values()["layer"], app.values()["one_head"]) == (2, 1)


def test_the_page_says_what_holds_in_the_last_layer_and_where_near_heads_end(first):
    px, even = first.distance_renormalised_px, attention_distance.uniform_distance_px(first.grid)
    last, drawn = len(px) - 1, first.distance_px
    near = np.argwhere(px <= even / 2)
    block = int(near[:, 0].max())
    head = int(px[block].argmin())
    said = App("distance").fine().text("markdown")
    told = {"low": drawn[last].argmin(), "high": drawn[last].argmax(), "near": px[last].argmin(), "far": px[last].argmax()}
    assert (told["low"], told["high"]) != (told["near"], told["far"]), "else it is said in other words"
    told |= {"low_px": f"{drawn[last].min():.1f}", "high_px": f"{drawn[last].max():.1f}"}
    told |= {"near_px": f"{px[last].min():.1f}", "far_px": f"{px[last].max():.1f}"}
    assert DISTANCE["reach dropped"].format(where=DISTANCE["last layer"].format(block=last), **told) in said
    assert DISTANCE.fill("near", count=len(near), px=f"{even / 2:.1f}", share="50 %", all=px.size) in said
    for one, words in ((drawn, said), (px, App("distance", cls="renormalise").fine().text("markdown"))):
        far_block, far_head = np.argwhere(one == one.max())[0]
        shown = f"{one.max():.1f} px" + (f" ({px[far_block, far_head]:.1f} px)" if one is drawn else "")
        assert DISTANCE.fill("far", count=int((one > even).sum()), block=far_block, head=far_head, px=shown,
                             even=f"{even:.1f}", all=px.size) in words  # fmt: skip
        assert (DISTANCE["two measures"] in words) == (one is drawn)
    assert DISTANCE["near end"].format(block=block, head=head, after=block + 1, last=last) in said
    assert 0 < block < last - 1, "else it is said in other words"


@pytest.mark.parametrize(("px", "words"), [
    ([[9, 9], [9, 9], [9, 9]], "No head is near: among patches only, every mean distance"),
    ([[1, 9], [1, 9], [9, 2]], DISTANCE["near to the last"].format(block=2, head=1)),
    ([[1, 9], [9, 2], [9, 9]], DISTANCE["near end before"].format(block=1, head=1, last=2)),
    ([[3, 1], [9, 9], [9, 9]], DISTANCE["near end"].format(block=0, head=1, after=1, last=2)),
])  # fmt: skip
def test_where_near_heads_end(px, words, monkeypatch):
    told = []
    monkeypatch.setattr(distance_sentences.st, "markdown", told.append)
    grid = Grid(4, 4, 8)
    table = attention_distance.uniform_distance_px(grid) / 8 * np.array(px)
    distances = DistanceTable(table, table, np.zeros((3, 2)), None, grid)
    distance_sentences.show_more_findings(distances, "renormalise", texts.prose("distance", "en"))
    counted = sum(" near: at most " in said for said in told)
    assert any(words in said for said in told) and counted == ("No head" not in words)


def test_patches_with_the_same_pixels_are_named_and_what_tells_them_apart_is_said(shipped, kinds, offer):
    rec = vitcore.record(shipped, sample("astronaut"))
    parts = patches.split_patches(rec.model_input.pixels, shipped.grid)
    one, others = next((i, found) for i in range(len(parts)) if (found := patches.identical_patches(parts, i)))

    def said(app: App) -> str:
        (said,) = [said for said in app.fine().sentences("markdown") if "x_p·E depends on the pixels alone" in said]
        return said

    app = App("patches", photo="astronaut", patch=str(one))
    assert "get the same 192 numbers" in said(app) and PATCHES["same positions"] in said(app)
    assert f"In this photo {len(others)} other patches have the same pixels as patch {one}: {others[0]}" in said(app)
    assert "In this photo" not in said(app.set(patch=0)) or patches.identical_patches(parts, 0)
    offer({"no-positions": kinds["no-positions"]})
    app = App("patches", model="no-positions", shuffle="true")
    assert "adds no learned position embedding" in said(app) and "differ only by it" not in said(app)
    assert "Nothing in this model encodes a patch's position" in app.text("caption")
    ordered, scrambled = (bars(app.chart(title)) for title in ("Patches in", PATCHES["positions stay"]))
    assert np.allclose([p for _, p in ordered], [p for _, p in scrambled], atol=1e-2)


def test_shuffling_is_explained_by_what_it_changes(shipped, first):
    from vitcore.forward.predict import predict, predict_without_positions
    from vitcore.probabilities import probabilities

    rec = first
    best, order = int(rec.logits.argmax()), patches.shuffled_patch_order(rec.grid.patches, 0)
    mixed = predict(shipped, patches.join_patches(patches.split_patches(rec.model_input.pixels, rec.grid)[order], rec.grid))
    bare = predict_without_positions(shipped, rec.model_input.pixels)
    shares = [probabilities(logits)[best] for logits in (rec.logits, mixed, bare)]
    before, after, alone = (f"{100 * share:.1f} %" if share >= 0.0005 else "< 0.1 %" for share in shares)
    app = App("patches", shuffle="true", patch="40").fine()
    said = " ".join(app.sentences("markdown"))
    assert f"goes from {before} to {after}" in said
    changes = mixed.argmax() != best or shares[1] < 0.8 * shares[0]
    assert (f"The likeliest class is now **{shipped.labels[int(mixed.argmax())]}**" in said) == changes
    assert f"has probability {alone}" in said
    slot = order.tolist().index(40)
    place = {"patch": 40, "slot": slot, "row": slot // 16, "col": slot % 16, "place": slot + 1, "before": 41}
    assert PATCHES["now at"].format(**place) in said
    still = int(np.flatnonzero(patches.shuffled_patch_order(rec.grid.patches, 7) == np.arange(rec.grid.patches))[0])
    said = " ".join(App("patches", shuffle="true", seed="7", patch=str(still)).fine().sentences("markdown"))
    assert f"patch {still} happens to stay where it was. Its position in the sequence is {still + 1}." in said


def test_the_filters_page_says_how_many_components_are_needed():
    variance = model_weights.filter_components(DEFAULT_MODEL).variance
    app = App("filters", component="3").fine()
    said = " ".join(app.sentences("markdown"))
    assert f"{1 + int((np.cumsum(variance) < 0.9).sum())} of {len(variance)} components" in said
    assert f"Component 3 explains **{100 * variance[2]:.1f} % of the variance**" in said
    found = filters.component_kinds(model_weights.filter_components(DEFAULT_MODEL).vectors[:28])
    assert f"28 components shown, **{found.colour} are mostly colour**" in said and f" {found.smooth} are smooth" in said
    holds = f"hold {100 * variance[:28].sum():.1f} % of the variance among the filters, and "
    assert holds in " ".join(app.sentences("caption"))
    of_3 = filter_patterns.describe_filter(model_weights.filter_components(DEFAULT_MODEL).vectors[2])
    assert of_3.pattern == "spot and rim" and " and ".join(of_3.colours) == "blue and yellow"
    assert said.count("blue in the middle, yellow around it") == 2, "in the line of the first six, and of the one enlarged"
    assert "**2** pink at the top, green at the bottom" in said
    assert not any("Mid-grey is zero" in c for c in app.set(scale="minmax").fine().sentences("caption"))


def test_photos_have_their_names_in_every_language():
    for name in ("cat", "Chelsea the cat", "猫咪 Chelsea"):  # as links hold it, and as addresses do
        app = App("overview", lang="zh-CN", photo=name).fine()
        assert app.values()["photo"] == "cat" and app.component("copy_link")["ids"]["猫咪 Chelsea"] == "cat"
    assert "Astronaut Eileen Collins" in App("overview").controls["photo"].options
    assert "小熊猫" in App("overview", lang="zh-CN").fine().controls["photo"].options


def test_the_lab_says_how_much_its_map_changes_without_the_identity(first):
    with_it, without = (first.rollout(residual=share).ravel() for share in (0.5, 0.0))
    rank = spearmanr(with_it, without).statistic
    said = App("rollout").fine().text("markdown")
    assert f"rank correlation of {rank:.2f} (1: the same order" in said and rank < 0.9
    apart = []
    for share, mine in ((0.5, with_it), (0.0, without)):
        other = first.rollout(first.grid.prefix + 136, residual=share).ravel()
        apart.append(50 * abs(mine / mine.sum() - other / other.sum()).sum())
    assert f"differ by {apart[0]:.2g} % with the identity, and by {apart[1]:.2g} % without it" in said


def test_a_shuffled_patch_stands_at_one_place_wherever_that_is_said():
    app = App("patches", shuffle="true", seed="3", patch="136").fine()
    place = 1 + int((patches.shuffled_patch_order(256, 3) == 136).argmax())
    assert place != 137
    drawn = " ".join(note["text"] for note in app.chart("Patch 136")["layout"]["annotations"])
    assert f"0 to 256: {place};" in drawn
    assert f"position in the sequence is {place}." in app.text("caption")
    assert f"position in the sequence is {place} instead of 137." in app.text("markdown")
