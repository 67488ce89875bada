"""Lecture mode: on every page, in the address, with pickers, neighbours, closed notes, a way out, and larger figures."""

from types import SimpleNamespace

import pytest
from nameless_controls import Nameless
from visitor import App

from app import texts
from app.components.figure import SCREEN_SHARE
from app.components.page_style import page_style
from app.components.page_style.page_style import PageSize
from app.menu import LECTURE, PAGES, ROOMS
from app.server.first_paint import index_html
from app.shell import lecture_mode

ASIDE = ("before", "after", "before story", "after story")
TEXT = texts.prose("lecture", "en")
MENU = texts.prose("menu", "en")


def dressed(app: App) -> dict:
    return app.component("dress")


def test_a_lecture_goes_on_from_page_to_page_and_ends_and_begins_on_each(subtests, kinds, offer):
    """And in what is there before any script has run, of every page, everything has its name."""
    offer(registers=kinds["registers"])
    app = App("overview", lecture="true", model="registers")
    for row in PAGES:
        with subtests.test(row.slug):
            assert dressed(app.go(row.slug).fine())["lecture"]
            app.at.get_by_key("leave").click()
            app.run().fine()
            assert not dressed(app)["lecture"] and app.values()["lecture"] is False
            pages = {c.proto.component_name: c.proto.html_content for c in app.at.get("bidi_component")}
            assert pages and {name: found for name, page in pages.items() if (found := Nameless(page).found)} == {}
            assert not [name for name, page in pages.items() if "{" in page], "a blank is not filled in"
            app.set(lecture=True).fine()
            assert dressed(app)["lecture"] and dressed(app)["mode"] == "light"
            (menu,) = app.at.menu_button
            assert menu.options == [MENU[other.slug] for other in PAGES], "any page"


def turns(app: App) -> list[str]:
    """The pages that the bar leads to, before and after."""
    return [link.label for link in app.at.get("page_link") if link.help in {TEXT[key] for key in ASIDE}]


def test_the_next_page_is_that_of_the_lecture_and_a_detour_leads_back_to_it():
    app = App("overview", lecture="true").fine()
    assert turns(app) == [MENU["story"]], "it begins there"
    for place, slug in enumerate(LECTURE):
        around = [MENU[other] for other in (*LECTURE[max(0, place - 1) : place], *LECTURE[place + 1 : place + 2])]
        assert turns(app.go(slug).fine()) == around
    app.go("attention")
    assert turns(app.go("card").fine()) == [MENU["attention"], MENU["patches"]]


def test_a_question_mark_shows_the_keys_of_the_app_once():
    app = App("train").fine()
    sheet = TEXT["key sheet"]
    assert sheet not in app.sentences("markdown")
    app.at.session_state[lecture_mode.KEYS_ASKED] = True
    assert sheet in [m.value for m in app.run().fine().at.markdown]
    assert sheet not in [m.value for m in app.run().fine().at.markdown]


def test_what_is_for_a_class_leads_to_the_poll():
    led = App("train").press("desk_poll").fine()
    assert "poll_open" in [one.key for one in led.at.button]


def test_a_link_opens_a_lecture():
    app = App("overview", "dark", lecture="true").fine()
    usual = {"scale": 1, "narrow": 0, "high": 0}
    shown = {
        "lecture": True,
        "mode": "dark",
        "page": "overview",
        "paths": ["", *("" if row is PAGES[0] else row.slug for row in ROOMS["look"])],
        "chosen": "en red-panda",
    }
    assert dressed(app) | usual == shown | usual | {key: dressed(app)[key] for key in ("far", "words")}
    assert dressed(app)["far"]["ViT-Ti/16"] == "23 MB download" and "Inside ViT Ti/8 · 128 px" not in dressed(app)["far"]
    assert app.controls["lecture"].proto.query_param_key == "lecture"


def test_it_begins_at_a_button_beside_the_title_and_the_bar_says_which_photo_and_model():
    app = App("patches").fine().press("to_lecture")
    assert dressed(app)["lecture"] and "to_lecture" not in {button.key for button in app.at.button}
    labels = [box.proto.popover.label for box in app.at.get("popover")]
    assert any("Red panda" in label and "Inside ViT" in label for label in labels)
    app.set(photo="cat").fine()
    assert any("Chelsea" in box.proto.popover.label for box in app.at.get("popover"))


def test_notes_are_for_the_presenter():
    notes = texts.prose("overview", "en")["notes"]
    app = App("overview").fine()
    assert not any(notes in said for said in app.sentences("markdown"))
    app.set(lecture=True).fine()
    (box,) = [box for box in app.at.expander if box.label == TEXT["notes"]]
    assert not box.proto.expanded, "a projector shows nothing of them"
    assert [m.value for m in box.markdown] == [notes]


@pytest.mark.parametrize(("cookie", "size"), [
    ("1.5-0-1000", (1.5, 0, 1000)), ("1-390-0", (1.0, 390, 0)), ("", (1.0, 0, 0)), ("9-0-0", (1.0, 0, 0)),
    ("1-12345-0", (1.0, 0, 0)), ("nan-0-0", (1.0, 0, 0)),
])  # fmt: skip
def test_the_first_run_knows_how_large_the_page_is(monkeypatch, cookie, size):
    visit = SimpleNamespace(session_state={}, context=SimpleNamespace(cookies={"inside_vit_size": cookie}))
    monkeypatch.setattr(page_style, "st", visit)
    assert page_style.page_size() == size
    visit.context.cookies = {}  # it is told once
    assert page_style.page_size() == size
    assert "function pageSize()" in index_html() and "inside_vit_size=" in index_html()


def resized(app: App, *size: float) -> dict:
    """How the first figure is laid out where type and screen are so large."""
    app.at.session_state["_size"] = PageSize(*size)
    return app.run().fine().charts()[0]["layout"]


@pytest.mark.parametrize("slug", ["filters", "distance"])
def test_figures_grow_with_the_type_but_no_higher_than_a_projector_has_room_for(slug):
    app = App(slug).fine()
    small = app.charts()[0]["layout"]
    large = resized(app, 1.5)
    for sizes in zip(*([one["font"]["size"], one["margin"]["t"], one["height"]] for one in (small, large)), strict=True):
        assert sizes[1] == pytest.approx(1.5 * sizes[0])
    if slug == "distance":
        layout = resized(app, 1.5, 0, 1000)
        room = SCREEN_SHARE * 1000 - layout["margin"]["t"] - layout["margin"]["b"]
        letter = 0.55 * 1.2 * layout["font"]["size"]  # Plotly writes an axis's title a fifth larger
        assert layout["height"] == SCREEN_SHARE * 1000 and len(layout["yaxis"]["title"]["text"]) * letter < room, (
            "not over the figure's title"
        )


def test_the_papers_chart_fills_a_projector_and_no_desk():
    size = 1.5, 0, 1000
    shown, usual = (resized(App("paper", **query).fine(), *size)["height"] for query in ({"lecture": "true"}, {}))
    assert 860 <= shown < 1000 and usual == SCREEN_SHARE * 1000


def test_a_picture_on_a_phone_has_no_empty_space_around_it():
    app = App("filters").fine()
    tall, usual = (chart["layout"]["height"] for chart in app.charts()[:2])
    layout = resized(app, 1.0, 390)
    wide = 390 - 24 - layout["margin"]["l"] - layout["margin"]["r"]
    shape = layout["yaxis"]["range"][0] / layout["xaxis"]["range"][1]
    assert layout["height"] == pytest.approx(wide * shape + layout["margin"]["t"] + layout["margin"]["b"], abs=1)
    assert layout["height"] < tall and app.charts()[1]["layout"]["height"] == usual


@pytest.mark.parametrize("given", [{}, {"lecture": "true"}])
@pytest.mark.parametrize("slug", ["overview", "train"])
def test_the_glossary_is_on_every_page(slug, given):
    assert texts.prose("glossary")["terms"] in App(slug, **given).fine().sentences("markdown")
