"""One patch, one layer and one head for all pages: chosen on one they are there on the next, and old links lead to the same."""

import pytest
from visitor import App

PATCH, LAYER, HEAD = "patch", "layer", "one_head"
WITH_PATCH = ("patches", "positions", "attention", "rollout", "story", "report")
WITH_LAYER = {"story": {"step": "7"}, "attention": {}, "outliers": {}, "compare": {"b": "itself", "picture": "attention"}}
WITH_HEAD = {"story": {"step": "7"}, "attention": {}, "compare": {"b": "itself", "picture": "attention"}}


def test_a_patch_chosen_on_one_page_is_chosen_on_all(kinds, offer):
    """With a small model of 16 patches: 35 pages are visited."""
    offer(registers=kinds["registers"])
    app = App("patches", model="registers").set(patch=7)
    for slug in ("filters", "outliers", "distance", *WITH_PATCH):
        app.go(slug).fine()
        assert app.values().get(PATCH, 7) == 7, slug
        assert slug not in WITH_PATCH or app.at.query_params[PATCH] in ("7", ["7"]), "what a link to it says"
    for number, slug in enumerate(WITH_PATCH):
        app.go(slug)
        if "ask" in app.controls:
            app.set(ask=True)
        app.set(patch=10 + number).fine()
        assert app.go(WITH_PATCH[number - 1]).fine().values()[PATCH] == 10 + number, slug


@pytest.mark.parametrize(("key", "pages"), [(LAYER, WITH_LAYER), (HEAD, WITH_HEAD)])
def test_a_layer_or_head_chosen_on_one_page_is_chosen_on_all(key, pages):
    for value, slug in zip((1, 2, 1, 2), pages, strict=False):
        app = App(slug, **pages[slug]).fine().set(**{key: value})
        for other, address in pages.items():
            app.at.query_params = dict(address)
            assert app.go(other).fine().values()[key] == value, (slug, other)


def test_a_pages_default_is_a_choice_too():
    """The middle layer, and the mean of all heads."""
    app = App("attention").set(layer=3).set(layer=6)
    assert LAYER not in app.at.query_params
    assert app.go("outliers").fine().values()[LAYER] == 6
    app.go("attention").set(one_head=2)
    assert app.go("story").set(step=7).fine().values()[HEAD] == 2
    assert app.go("attention").set(one_head=None).fine().values()[HEAD] is None
    assert app.go("story").fine().values()[HEAD] == 0, "the story looks into one"
    assert app.go("attention").fine().values()[HEAD] is None


def test_what_nobody_chose_stays_behind():
    """Pages begin with layers of their own; addresses stay short."""
    app = App("attention").fine()
    assert app.values()[LAYER] == 6 and app.values()[HEAD] is None
    assert app.go("outliers").fine().values()[LAYER] == 11
    assert app.go("story").set(step=7).fine().values()[HEAD] == 0
    assert app.go("attention").fine().values()[LAYER] == 6 and app.values()[HEAD] is None
    for slug in WITH_PATCH:
        app.go(slug).fine()
    assert not {PATCH, LAYER, HEAD} & {*app.at.query_params}


def follow(app: App, slug: str, **address: str) -> App:
    """A link of a page that shows none of the three: Streamlit drops from one what the page that is left holds."""
    app.go("train").at.query_params = address
    return app.go(slug).fine()


def test_a_link_counts_more_than_what_was_chosen():
    """The lab's is by its token: that page has a control of the patch, so that Streamlit drops a patch from its links."""
    app = App("positions").set(patch=37)
    assert follow(app, "patches", patch="9").values()[PATCH] == 9
    assert app.go("positions").fine().values()[PATCH] == 9
    app.go("outliers").set(layer=2)
    assert follow(app, "attention", layer="6").values()[LAYER] == 6, "this page's default"
    assert app.go("outliers").fine().values()[LAYER] == 6
    app = App("rollout", ask="true").set(patch=37)
    app.at.query_params = {"token": "54"}
    assert app.go("attention").fine().values()[PATCH] == 53 and "token" not in app.at.query_params
    assert app.go("rollout").fine().values()[PATCH] == 53


@pytest.mark.parametrize(("slug", "address", "selection"), [
    ("positions", {"position": "9"}, {PATCH: 9}), ("rollout", {"query": "9", "ask": "true"}, {PATCH: 9}),
    ("report", {"query": "9", "ask": "true"}, {PATCH: 9}), ("compare", {"query": "9", "ask": "true", "b": "itself"}, {PATCH: 9}),
    ("compare", {"position": "9", "picture": "positions", "b": "itself"}, {PATCH: 9}),
    ("attention", {"block": "3", "one_head": "2"}, {LAYER: 3, HEAD: 2}),
    ("attention", {"block": "3", "head": "2"}, {LAYER: 3, HEAD: 1}), ("outliers", {"block": "3"}, {LAYER: 3}),
    ("story", {"step": "7", "in_head": "2"}, {HEAD: 2}), ("story", {"step": "7", "of_head": "2"}, {HEAD: 1}),
    ("compare", {"picture": "attention", "both_layer": "3", "both_head": "2", "b": "itself"}, {LAYER: 3, HEAD: 2}),
    ("compare", {"picture": "attention", "both_head": "head 1", "b": "itself"}, {HEAD: 1}),
    ("compare", {"picture": "attention", "both_head": "mean of all", "b": "itself"}, {HEAD: None}),
])  # fmt: skip
def test_an_old_link_leads_to_the_same_and_is_written_anew(slug, address, selection):
    app = App(slug, **address).fine()
    assert {key: app.values()[key] for key in selection} == selection
    old = {"position", "query", "block", "head", "in_head", "of_head", "both_layer", "both_head"}
    assert not old & {*app.at.query_params}
    assert {key for key, value in selection.items() if value is not None} <= {*app.at.query_params}


@pytest.mark.parametrize(
    ("key", "said"), [("position", "-1"), ("query", "x"), ("block", "99"), ("in_head", "1e400"), ("head", "-2")]
)
def test_an_old_link_that_is_nonsense_chooses_nothing(key, said):
    for slug in ("positions", "attention"):
        app, plain = App(slug, **{key: said}).fine(), App(slug).fine()
        assert app.values() == plain.values() and key not in app.at.query_params


def test_what_another_model_lacks_is_given_up(kinds, offer):
    offer({"registers": kinds["registers"]})
    app = App("patches").set(patch=250)
    assert app.set(model="registers").fine().values()[PATCH] == kinds["registers"].grid.middle
    assert app.go("positions").fine().values()[PATCH] == kinds["registers"].grid.middle
