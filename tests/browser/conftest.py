"""One server, a Chromium for each worker, and pages that mind what they ask for: no other host, no error in the console."""

import contextlib
import os
import re
import shutil
import subprocess
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlparse

import pytest
from app_process import served
from filelock import FileLock
from playwright.sync_api import Browser, Page, expect, sync_playwright
from wait_and_look import LISTEN, LONG_MS

import vitcore
from vitcore.assets import asset_path

FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
         "--disable-sync", "--js-flags=--no-turbofan --min-semi-space-size=16",  # it optimises for minutes, and collects often
         "--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream"]  # fmt: skip
# Streamlit looks for its own server below the page's address before it looks at the root; it expects the 404.
EXPECTED = re.compile(r"/[a-z]+/_stcore/(health|host-config)$")
LONGEST = ("by_keys", "watch_it_learn", "a_word_of_english", "its_visitor_s_alone", "three_photos", "cannot_carry", "two_methods",
           "gallery_photo", "average_is_made", "[outliers]")  # fmt: skip
expect.set_options(timeout=LONG_MS)  # a machine may be busy; what is there sooner is seen sooner


def pytest_collection_modifyitems(items):
    """Marks those that are here; the longest of them come first, so that no worker is left alone with one at the end."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.browser)
    items.sort(key=lambda item: not (item.get_closest_marker("browser") and any(name in item.name for name in LONGEST)))


def _on_path() -> str | None:
    """A chromium that starts: a stub of that name may be there and do nothing."""
    for name in ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"):
        found = shutil.which(name)
        if found and subprocess.run([found, "--version"], capture_output=True, check=False).returncode == 0:
            return found
    return None


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        found = _on_path()
        if not found and not Path(playwright.chromium.executable_path).exists():
            pytest.skip("no chromium on the path and none of Playwright's: run tests/browser/install.sh")
        browser = playwright.chromium.launch(executable_path=found, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def home(tmp_path_factory) -> Path:
    """Where the server keeps its log, its runs, and the models it has downloaded: none. All workers of a run have one."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "server"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def server(home) -> Iterator[str]:
    """The app as people start it, on a free port, for all tests of all workers; its address.

    The first worker to ask starts it, and at its end waits for the locks of the others, which the system lets go when they end.
    """
    mine = FileLock(home / f"{os.environ.get('PYTEST_XDIST_WORKER', 'only')}.lock")
    with contextlib.ExitStack() as at_the_end:
        with FileLock(home / "starting"):
            mine.acquire()
            address = home / "address"
            if not address.exists():
                address.write_text(at_the_end.enter_context(served(home)))
                at_the_end.callback(_others_are_done, home, mine)
            found = address.read_text()
        yield found
        mine.release()


def _others_are_done(home: Path, mine: FileLock) -> None:
    with FileLock(home / "starting"):
        (home / "address").unlink()  # who comes now starts one
    for lock in home.glob("*.lock"):
        if lock != Path(mine.lock_file):
            FileLock(lock).acquire(timeout=3600)  # one test may take ten minutes on a busy machine


@pytest.fixture(scope="session")
def rec(shipped) -> vitcore.Recording:
    """Of the photo that the app begins with."""
    return vitcore.record(shipped, asset_path("samples/red-panda.jpg"), maps=range(shipped.blocks))


@pytest.fixture(scope="session")
def spare(chromium) -> dict[tuple, list[Page]]:
    """Tabs of visitors who have left, by what their browsers are. A tab keeps what it has fetched and compiled, half of what
    a page costs, and nothing that a page has stored."""
    return defaultdict(list)


def _come(chromium: Browser, options: dict) -> Page:
    context = chromium.new_context(**options)
    context.grant_permissions(["clipboard-read", "clipboard-write", "camera"])
    context.set_default_timeout(LONG_MS)
    context.add_init_script(LISTEN)
    return context.new_page()


def _leave(page: Page, server: str) -> None:
    """The page is closed, its tab is not; what others opened is."""
    for other in page.context.pages:
        if other is not page:
            other.close()
    page.goto(f"{server}/_stcore/health")
    page.evaluate("localStorage.clear(); sessionStorage.clear()")
    page.context.new_cdp_session(page).send(
        "Storage.clearDataForOrigin", {"origin": server, "storageTypes": "indexeddb,cache_storage,service_workers"}
    )
    page.context.clear_cookies()
    page.mouse.move(-1, -1)


@pytest.fixture
def visit(chromium, spare, server, home) -> Iterator:
    """`visit("patches?patch=3", width=390, theme="dark")`: a new visitor's page; what it did wrong fails the test.

    `options` are the browser context's: `locale`, `has_touch` and the like. With `new` nothing is in the browser's cache.
    """
    here: list[tuple[tuple, Page]] = []
    wrong: list[str] = []
    heard = (home / "log").stat().st_size
    minds = {
        "request": lambda r: _foreign(r.url) and wrong.append(f"asked for {r.url}"),
        "websocket": lambda w: _foreign(w.url) and wrong.append(f"opened {w.url}"),
        "pageerror": lambda error: wrong.append(f"script error: {error}"),
        "console": lambda m: m.type == "error" and not _expected(m) and wrong.append(f"console: {m.text} {m.location}"),
    }

    def go(path: str = "", width: int = 1440, height: int = 1000, theme: str = "light", new=False, **options) -> Page:
        kind = tuple(sorted(options.items()))
        page = spare[kind].pop() if spare[kind] and not new else _come(chromium, options)
        here.append((("new",) if new else kind, page))
        page.set_viewport_size({"width": width, "height": height})
        page.emulate_media(color_scheme=theme, media="null", reduced_motion="null")
        for event, mind in minds.items():
            page.on(event, mind)
        page.goto(path if path.startswith(("http:", "about:")) else f"{server}/{path}")
        return page

    yield go
    for kind, page in here:
        for one in page.context.pages:
            if one.locator("[data-testid=stException]").count():
                wrong.append(f"an exception is shown on {one.url}")
        if page.is_closed() or kind == ("new",):
            page.context.close()
            continue
        for event, mind in minds.items():
            page.remove_listener(event, mind)
        _leave(page, server)
        spare[kind].append(page)
    said = (home / "log").read_text()[heard:]
    assert wrong == [] and "Traceback" not in said, (wrong, said[-3000:])


def _foreign(url: str) -> bool:
    parts = urlparse(url)
    return parts.scheme not in ("data", "blob", "about") and parts.hostname not in ("localhost", "127.0.0.1")


def _expected(message) -> bool:
    return bool(EXPECTED.search(message.location.get("url", "")))
