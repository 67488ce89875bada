"""A page that was asked for is shown, whatever the browser asks for before it has heard of it."""

from visitor import App

from app.shell import page_switch


def shown(app: App) -> str:
    return app.fine().at.session_state[page_switch.DRAWN_PAGE_STATE]


def asked(app: App, slug: str, of: str) -> str:
    """The page that is drawn when the browser, which shows the page `of`, asks for `slug`."""
    app.at.context["url"] = f"http://localhost/inside/{'' if of == 'overview' else of}"
    return shown(app.go(slug))


def through_the_door() -> App:
    app = App("overview")
    app.at.context["url"] = "http://localhost/inside"
    assert shown(app.press("door_story")) == "story"
    return app


def test_a_switch_that_the_browser_has_not_heard_of_is_repeated():
    app = through_the_door()
    assert asked(app, "overview", of="overview") == "story", "something on the page that is left spoke once more"
    assert asked(app, "overview", of="overview") == "story"
    assert asked(app, "story", of="story") == "story"
    assert asked(app, "overview", of="overview") == "overview", "it was heard of"


def test_whoever_goes_back_or_on_is_not_held(monkeypatch):
    assert asked(through_the_door(), "overview", of="story") == "overview", "a link, before the other page was touched"
    assert asked(app := through_the_door(), "patches", of="overview") == "patches", "a link of the page that is left"
    assert asked(app, "overview", of="overview") == "overview"
    app = through_the_door()
    monkeypatch.setattr(page_switch, "_is_history_navigation", lambda: True)
    assert asked(app, "overview", of="overview") == "overview"


def test_without_word_from_the_browser_a_switch_is_done_once():
    app = App("overview").press("door_story")
    assert shown(app) == "story"
    assert shown(app.go("overview")) == "overview"
