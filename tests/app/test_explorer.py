"""The attention explorer without a browser: what its picture is given equals the recording, whatever the address says."""

from dataclasses import replace

import numpy as np
import pytest
from visitor import App

from app.state import insights, session
from vitcore.analysis import attention_as_bytes, heads
from vitcore.analysis.rollout import rollout
from vitcore.forward.outliers import outliers_of

KINDS = ["registers", "no-class-token", "mean-of-patches", "no-positions", "no-head", "wide", "distilled", "hybrid"]


@pytest.fixture
def files(monkeypatch):
    """The bytes behind each address that the page hands out."""
    kept = {}

    def add(data: bytes, mime: str, place: str) -> str:
        name = f"/media/{place}-{hash(data)}.bin"
        kept[name] = data
        return name

    monkeypatch.setattr("app.views.attention.explorer_data.address", add)
    return kept


def given(app: App) -> dict:
    return app.fine().component("explorer")


def block_of(data: dict, files: dict, block: int) -> np.ndarray:
    """(H, Q, T) codes of a block."""
    spec, grid = data["maps"][block], data["grid"]
    tokens = grid["prefix"] + grid["rows"] * grid["cols"]
    count = tokens if spec.get("queries") is None else len(spec["queries"])
    return np.frombuffer(files[spec["url"]], np.uint8).reshape(data["heads"], count, tokens)


def close(found: np.ndarray, expected: np.ndarray) -> None:
    """Equal within the error the code states."""
    expected = expected.astype(np.float64)
    small = expected < attention_as_bytes.LEAST
    assert np.all(found[small] <= 2**-attention_as_bytes.SPAN)
    assert np.abs(found[~small] / expected[~small] - 1).max(initial=0) <= attention_as_bytes.WORST + 1e-6


def test_bytes_decode_to_the_recordings_numbers(files, rec):
    data = given(App("attention", photo="astronaut"))
    for block in (0, 6, 11):
        codes = block_of(data, files, block)
        close(attention_as_bytes.decode(codes), rec.maps[block])
        token = 1 + rec.grid.patch(3, 5)
        shown = rec.head_maps(block, token)
        close(attention_as_bytes.decode(codes[:, token])[:, 1:].reshape(3, 16, 16), shown)
    assert max(len(files[spec["url"]]) for spec in data["maps"]) <= 800_000
    assert len({spec["url"] for spec in data["maps"]}) == 12


def test_the_strip_is_the_pinned_tokens(files, rec):
    ways = {"What it attends to": lambda m, t: m[:, t], "Who attends to it": lambda m, t: m[:, :, t]}
    for direction, pick in ways.items():
        data = given(App("attention", photo="astronaut", token="40", direction=direction))
        strip = np.frombuffer(files[data["atlas"]["url"]], np.uint8).reshape(12, 3, 16, 16)
        close(attention_as_bytes.decode(strip), np.stack([rec.grid.to_map(pick(rec.maps[b], 40)) for b in range(12)]))


def test_an_address_opens_the_view_it_names(files):
    app = App(
        "attention", token="40", second="77", block="3", one_head="1", direction="Who attends to it", rolled="true", log="true",
        one_scale="true", lit="darkness",
    )  # fmt: skip
    data = given(app)
    assert data["state"] == {
        "token": 40,
        "second": 77,
        "block": 3,
        "head": 1,
        "column": True,
        "rolled": True,
        "mask": False,
    }
    assert (data["log"], data["shared"], data["style"]) == (True, True, "light")


@pytest.mark.parametrize(
    ("address", "state"),
    [
        ({"token": "9999", "second": "9999", "block": "99", "one_head": "99"},
         {"token": 137, "second": None, "block": 6, "head": None}),
        ({"token": "x", "second": "", "block": "-1", "direction": "up"}, {"token": 137, "second": None, "column": False}),
    ],
)  # fmt: skip
def test_a_nonsense_address_is_put_right(files, address, state):
    assert given(App("attention", **address))["state"].items() >= state.items()


def test_controls_reach_the_picture(files):
    """What a click sends is in the browser's tests."""
    app = App("attention").fine()
    app.set(token=5, second=9, layer=2, one_head=2, rolled=True).fine()
    assert given(app)["state"] == {
        "token": 5,
        "second": 9,
        "block": 2,
        "head": 2,
        "column": False,
        "rolled": True,
        "mask": False,
    }
    assert given(app.set(second=None))["state"]["second"] is None


def test_the_fields_say_which_patch_their_places_hold(files, kinds, offer):
    """A place counts the tokens before the patches, too: 40 is patch 39 after a class token."""

    def labels(app: App) -> tuple[str, str]:
        return app.fine().at.number_input(key="token").label, app.at.number_input(key="second").label

    app = App("attention")
    assert labels(app) == ("Patch 136 is token", "Compare with")
    assert labels(app.set(token=40)) == ("Patch 39 is token", "Compare with")
    assert labels(app.set(token=0, second=180)) == ("Token 0: class token", "With patch 179, token")
    assert labels(app.set(token=1, second=0)) == ("Patch 0 is token", "With 0 (class token)")
    assert labels(app.set(second=None))[1] == "Compare with"
    linked = App("attention", token="120", second="77")
    assert labels(linked) == ("Patch 119 is token", "With patch 76, token") and linked.values()["token"] == 120
    assert labels(App("attention", token="9999", second="x")) == ("Patch 136 is token", "Compare with")
    offer({name: kinds[name] for name in ("no-class-token", "registers")})
    bare = App("attention", model="no-class-token", token="3")
    assert labels(bare)[0] == "Patch 3 is token" and "the patch's number" in bare.at.number_input(key="token").help
    assert labels(App("attention", model="registers", token="3"))[0] == "Token 3: register 2"
    assert labels(App("attention", model="registers", token="9"))[0] == "Patch 4 is token"


def test_rollout_equals_the_recordings(files, rec):
    assert given(App("attention", photo="astronaut"))["rollout"] is None, "sent only when asked for"
    data = given(App("attention", photo="astronaut", rolled="true"))
    found = attention_as_bytes.decode(np.frombuffer(files[data["rollout"]["url"]], np.uint8).reshape(257, 257))
    for token in (0, 100):
        close(found[token], rollout(rec.fused["mean"], token, prefix=1))


def test_cards_say_what_the_recording_says(files, rec):
    data = given(App("attention", photo="astronaut"))
    out = outliers_of(rec).tokens
    for block in range(12):
        described = heads.describe(
            rec.maps[block], rec.distance_px[block], rec.distance_renormalised_px[block], rec.grid, out
        )
        for card, head in zip(data["cards"][str(block)], described, strict=True):
            assert card["px"] == round(head.distance_px) and card["bits"] == round(head.entropy_bits, 1)
            assert card["spread"] == round(2**head.entropy_bits)
            assert card["words"] == list(head.words) and card["shares"] == [round(100 * head.shares[0]) or 0.5], (
                "0.5: less than a whole percent"
            )


def test_a_large_model_sends_some_queries_and_says_so(files, make_vit, offer, photo):
    """Neither all blocks nor all queries: what is pinned is exact, the rest a lattice."""
    import vitcore

    vit = make_vit(img_size=320, patch_size=8, num_heads=4, reg_tokens=2)
    vit = replace(vit, card=replace(vit.card, name="large"))
    offer(large=vit)
    session_limit = session.KEEP_MAPS_MB
    try:
        session.KEEP_MAPS_MB = 20
        app = App("attention", model="large", photo="astronaut", token="700", second="3", block="1")
        data = given(app)
        rec = vitcore.record(vit, photo, maps=[1], fusions=("mean",))
        spec = data["maps"][1]
        assert [place is None for place in data["maps"]] == [True, False, True]
        assert {0, 1, 2, 3, 700} <= set(spec["queries"]) and len(files[spec["url"]]) <= 800_000
        assert len(spec["queries"]) > 100, "as many as fit"
        close(attention_as_bytes.decode(block_of(data, files, 1)), rec.maps[1][:, spec["queries"]])
        assert "the nearest of those" in data["coarse"]
        strip = np.frombuffer(files[data["atlas"]["url"]], np.uint8)
        assert not data["atlas"]["whole"] and strip.size == 3 * 16 * 16
        data = given(app.set(direction="gets", rolled=True))
        spec = data["maps"][1]
        close(attention_as_bytes.decode(block_of(data, files, 1)), rec.maps[1][:, :, spec["queries"]].swapaxes(1, 2))
        rolled = attention_as_bytes.decode(
            np.frombuffer(files[data["rollout"]["url"]], np.uint8).reshape(-1, rec.grid.tokens)
        )
        at = data["rollout"]["queries"].index(700)
        close(rolled[at, :5], np.array([rollout(rec.fused["mean"], t, prefix=3)[700] for t in range(5)]))
    finally:
        session.KEEP_MAPS_MB = session_limit


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_model_names_its_tokens(kind, kinds, offer, files):
    vit = kinds[kind]
    offer({kind: vit})
    app = App("attention", model=kind, rolled="true", direction="Who attends to it")
    data = given(app)
    names = {
        "registers": ["class token", "register 0", "register 1", "register 2", "register 3"], "no-class-token": [],
        "mean-of-patches": [], "distilled": ["class token", "distillation token"],
    }.get(kind, ["class token"])  # fmt: skip
    assert data["names"] == names and data["grid"]["prefix"] == len(names)
    spoken = [name if name.startswith("register") else f"the {name}" for name in names]
    assert data["spoken"] == spoken, "as a sentence has them: what the class token attends to"
    app.set(token=vit.grid.tokens - 1, second=0, layer=vit.blocks - 1, one_head=vit.heads - 1).fine()
    assert (data["grid"]["rows"], data["grid"]["cols"]) == (vit.grid.rows, vit.grid.cols)
    assert data["coarse"] == ""


@pytest.mark.parametrize("lang", ["en", "zh-CN", "zh-TW"])
def test_every_word_is_there_in_every_language(lang, files):
    data = given(App("attention", lang=lang))
    assert (
        all(data["words"].values()) and all(all(row) for row in data["rules"].values()) and all(map(all, data["keys"]))
    )
    if lang != "en":
        english = given(App("attention"))["words"]
        assert [word for word in data["words"] if data["words"][word] == english[word]] == []


def test_thumbnails_of_a_large_grid_are_means():
    maps = np.random.default_rng(0).random((2, 37, 20)).astype(np.float16)
    small = insights._smaller(maps, 16, 16)
    assert small.shape == (2, 16, 16)
    edges = np.append(np.arange(16) * 37 // 16, 37), np.append(np.arange(16) * 20 // 16, 20)
    expected = maps[1, edges[0][5] : edges[0][6], edges[1][9] : edges[1][10]].astype(np.float64).mean()
    assert small[1, 5, 9] == pytest.approx(expected, rel=1e-4)
    assert insights._smaller(maps[:, :16, :16], 16, 16).dtype == np.float16


def test_addresses_lead_to_the_bytes(rec):
    """The media store, not the stand-in of the other tests."""
    data = App("attention").fine().component("explorer")
    places = [spec["url"] for spec in data["maps"]] + [data["photo"], data["atlas"]["url"]]
    assert all(place.startswith("mock/media/") for place in places) and len(set(places)) == 14


def test_a_link_that_names_a_patch_or_writes_a_photo_with_a_capital_is_understood(shipped):
    app = App("attention", photo="Rocket", patch="100").fine()
    assert app.values()["token"] == shipped.grid.prefix + 100 and "patch" not in app.at.query_params
    assert (
        not any("No photo here" in said for said in app.sentences("markdown"))
        and app.at.session_state["photo"] == "rocket"
    )
    assert App("attention", token="7", patch="100").fine().values()["token"] == 7
