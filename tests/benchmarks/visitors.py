"""Benchmark: a room of visitors. How long one waits for a page and for a click, and how long each of many does.

Run `python tests/benchmarks/visitors.py [--visitors 50] [--live 25] [--seconds 60] [--think 5] [--url http://…]`.
With `--table`, rooms of `ROOMS` in turn, and computed of them what servers of other sizes hold: the tables of `deploy/README.md`.
Pages are opened by link, each with a photo and settings drawn by chance, and clicks change a number or a slider of an open page.
No browser: the messages are those that one would send. Times are from a message to the end of the page's script; "CPU" is what the
server's process took meanwhile, where the system says. Without `--url` a server is started here. `--live`: so many of the visitors
are on Live; each fetches the model and its runtime once, as a new browser does, and then opens a photo now and then.
"""

import argparse
import asyncio
import contextlib
import gzip
import html
import json
import math
import os
import random
import re
import statistics
import sys
import time
import urllib.request
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, NamedTuple

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.asyncio.client import connect

ROOT = Path(__file__).parents[2]
sys.path[0] = str(ROOT)
PHOTOS = [row["id"] for row in json.loads((ROOT / "assets/samples/credits.json").read_text(encoding="utf-8"))]
# Page, and what a click changes there: a control's key, its kind, and the values it may take.
CLICKS: dict[str, tuple[str, str, range] | None] = {
    "": None, "distance": None,
    "story": ("patch", "double_value", range(256)), "attention": ("patch", "double_value", range(256)),
    "patches": ("patch", "double_value", range(256)), "filters": ("components", "double_array_value", range(1, 99)),
    "positions": ("patch", "double_value", range(256)), "rollout": ("discard", "double_array_value", range(0, 96, 5)),
}  # fmt: skip
BARS = {
    "one, page": 120,
    "one, click": 200,
    "room, page p95": 1000,
    "room, click p95": 200,
    "room, live page p95": 250,
}  # ms, on two idle cores
ROOMS = ((50, 0), (80, 0), (120, 0), (200, 0), (50, 50))  # of the table: visitors, and how many of them are on Live
CORES_MEASURED = 2  # where the table's rooms are; one process serves them


class Visit:
    """One visitor: opens pages by link, each in a connection of its own as a browser does, and clicks on the one that is open."""

    def __init__(self, url: str, chance: random.Random) -> None:
        self.address, self.chance = url.replace("http", "ws", 1) + "/_stcore/stream", chance
        self.headers: dict[str, str] = {}
        self.socket: Any = None
        self.ids: dict[str, str] = {}
        self.fragments: dict[str, str] = {}
        self.page, self.hash, self.query = "", "", ""

    async def open(self, page: str) -> None:
        draw = self.chance
        await self.leave()
        self.socket = await connect(
            self.address, subprotocols=["streamlit"], max_size=None, open_timeout=60, additional_headers=self.headers  # type: ignore[list-item]
        )  # fmt: skip
        self.page, self.ids, self.fragments = page, {}, {}
        self.query = (
            f"photo={draw.choice(PHOTOS)}&layer={draw.randrange(12)}&patch={draw.randrange(256)}"
            f"&discard={draw.choice([0, 30, 60, 90])}&residual={draw.choice([25, 50, 75])}"
        )
        message = BackMsg()
        message.rerun_script.page_name, message.rerun_script.query_string = page, self.query
        await self._run(message)

    async def leave(self) -> None:
        """Close the page that is open."""
        if self.socket:
            await self.socket.close()

    async def click(self) -> None:
        """Change the control that `CLICKS` names."""
        key, kind, values = CLICKS[self.page] or ("", "", range(0))
        message = BackMsg()
        message.rerun_script.page_script_hash, message.rerun_script.query_string = self.hash, self.query
        message.rerun_script.fragment_id = self.fragments[key]
        state = message.rerun_script.widget_states.widgets.add(id=self.ids[key])
        value = self.chance.choice(values)
        if kind == "double_value":
            state.double_value = value
        else:
            state.double_array_value.data.append(value)
        await self._run(message)

    async def _run(self, message: BackMsg) -> None:
        await self.socket.send(message.SerializeToString())
        while True:
            said = ForwardMsg.FromString(await asyncio.wait_for(self.socket.recv(), 120))
            kind = said.WhichOneof("type")
            if kind == "script_finished" and said.script_finished != ForwardMsg.FINISHED_EARLY_FOR_RERUN:
                return  # a link may name things otherwise than the address does: then the page runs once more, at once
            if kind == "navigation":
                self.hash = said.navigation.page_script_hash
            if kind == "delta":
                self._read(said.delta)

    def _read(self, delta: Any) -> None:
        shown = delta.new_element
        kind = shown.WhichOneof("type")
        assert kind != "exception", shown.exception.message
        if kind in ("number_input", "slider"):
            found = getattr(shown, kind).id
            key = found.split("-", 2)[2]
            self.ids[key], self.fragments[key] = found, delta.fragment_id


@contextlib.asynccontextmanager
async def visiting(url: str, chance: random.Random) -> AsyncIterator[Visit]:
    visit = Visit(url, chance)
    try:
        yield visit
    finally:
        await visit.leave()


class Times(dict[str, list[float]]):
    """Milliseconds by what was waited for."""

    async def take(self, name: str, doing: Any) -> None:
        begun = time.perf_counter()
        await doing
        self.setdefault(name, []).append(1e3 * (time.perf_counter() - begun))


def cpu_ms(pid: int | None) -> float:
    """What a process has used so far, in steps of 10 ms."""
    try:
        spent = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[11:13]
        return 1e3 * sum(map(int, spent)) / os.sysconf("SC_CLK_TCK")
    except OSError:
        return float("nan")


async def one(url: str, pid: int | None, rounds: int, chance: random.Random) -> None:
    """One visitor, page after page; the first round warms up."""
    print("\n| one visitor | page, ms | CPU, ms | click, ms | CPU, ms |\n|---|---|---|---|---|")
    times, spent = Times(), Times()
    async with visiting(url, chance) as visit:
        for turn in range(rounds + 1):
            for page, click in CLICKS.items():
                for name, doing in (("page", lambda page=page: visit.open(page)), ("click", visit.click)):
                    if name == "click" and not click:
                        continue
                    before = cpu_ms(pid)
                    await times.take(f"{page} {name}", doing())
                    await asyncio.sleep(0.05)  # what is left to be tidied counts too
                    spent.setdefault(f"{page} {name}", []).append(cpu_ms(pid) - before)
            if not turn:
                times, spent = Times(), Times()

    def line(title: str, pages: list[str]) -> str:
        cells = []
        for what in ("page", "click"):
            for table, middle in ((times, statistics.median), (spent, statistics.mean)):
                found = [x for page in pages for x in table.get(f"{page} {what}", [])]
                cells.append(f"{middle(found):.0f}" if found else "–")
        return f"| {title} | " + " | ".join(cells) + " |"

    for page in CLICKS:
        print(line(page or "overview", [page]))
    print(line(f"all (bars: {BARS['one, page']}, click {BARS['one, click']})", list(CLICKS)))


def fetch_live_files(url: str) -> int:
    """What a new browser is given on Live, in bytes: the files that the page's head names."""

    def get(path: str) -> bytes:
        asked = urllib.request.Request(f"{url}/{path}", headers={"Accept-Encoding": "gzip"})
        with urllib.request.urlopen(asked, timeout=120) as answer:
            return answer.read()

    found = re.search(rb'data-files="([^"]+)"', gzip.decompress(get("live")))
    assert found, "onnxruntime-web is not installed here"
    files = json.loads(html.unescape(found[1].decode()))
    return sum(len(get(path)) for kind, path in files.items() if kind != "named")


class Room(NamedTuple):
    """What a room of visitors was like."""

    visitors: int
    live: int
    times: Times
    spent_s: float  # of the server's CPU time
    took_s: float

    @property
    def cores(self) -> float:
        return self.spent_s / self.took_s

    def p95(self, name: str) -> float:
        ends = sorted(self.times.get(name, [math.nan]))
        return ends[int(0.95 * len(ends))]

    @property
    def held(self) -> bool:
        """Whether each kind of page came as soon as its bar asks."""
        return all(not self.p95(name) > BARS[f"room, {name} p95"] for name in ("page", "live page"))


async def room(url: str, pid: int | None, visitors: int, live: int, seconds: float, think_s: float, chance: random.Random) -> Room:
    """Many visitors: a page, then a click now and then, each after thinking; the first `live` of them on Live."""
    times, until, before, begun = Times(), time.monotonic() + seconds, cpu_ms(pid), time.perf_counter()

    async def visitor() -> None:
        await asyncio.sleep(chance.random() * think_s)
        async with visiting(url, chance) as visit:
            while time.monotonic() < until:
                page = chance.choice(list(CLICKS))
                await times.take("page", visit.open(page))
                await asyncio.sleep(think_s * (0.5 + chance.random()))
                if CLICKS[page] and chance.random() < 0.5 and time.monotonic() < until:
                    await times.take("click", visit.click())
                    await asyncio.sleep(think_s * (0.5 + chance.random()))

    async def on_live() -> None:
        await asyncio.sleep(chance.random() * think_s)
        await asyncio.to_thread(fetch_live_files, url)
        async with visiting(url, chance) as visit:
            while time.monotonic() < until:
                await times.take("live page", visit.open("live"))
                await asyncio.sleep(4 * think_s * (0.5 + chance.random()))

    await asyncio.gather(*(on_live() if i < live else visitor() for i in range(visitors)))
    return Room(visitors, live, times, (cpu_ms(pid) - before) / 1e3, time.perf_counter() - begun)


def say_room(found: Room, seconds: float, think_s: float) -> None:
    """Print a row a kind of wait."""
    who = f"{found.visitors} visitors, {found.live} on Live, thinking {think_s:g} s"
    print(f"\n| {who} | a second | median, ms | p95 | max | bar |\n|---|---|---|---|---|---|")
    for name, times in found.times.items():
        middle, bar = statistics.median(times), BARS[f"room, {name} p95"]
        print(f"| {name}s | {len(times) / seconds:.1f} | {middle:.0f} | {found.p95(name):.0f} | {max(times):.0f} | {bar} |")
    count = sum(map(len, found.times.values()))
    print(f"\nThe server used {found.cores:.2f} cores: {1e3 * found.spent_s / count:.0f} ms a page or click, of {count}.")


def visitors_held(rooms: list[Room], cores: int, on_live: float) -> float:
    """How many visitors a server of so many cores holds, a part of them on Live.

    Its cores are used as in the fullest room whose pages came within the bars; a visitor uses what one of the first such room did.
    """
    each = {kind: next(one.cores / one.visitors for one in rooms if bool(one.live) == kind) for kind in (False, True)}
    most = max((one.cores for one in rooms if one.held), default=0.0)
    return most * cores / CORES_MEASURED / ((1 - on_live) * each[False] + on_live * each[True])


async def table(url: str, pid: int | None, seconds: float, think_s: float, pause_s: float) -> None:
    """The rooms of `ROOMS`, and what is computed of them."""
    await room(url, pid, 20, 1, seconds, think_s, random.Random(0))  # so the server has loaded what pages need
    rooms = []
    for visitors, live in ROOMS:
        await asyncio.sleep(pause_s)
        rooms.append(await room(url, pid, visitors, live, seconds, think_s, random.Random(1)))
    print("\n| visitors | of them on Live | pages, median, ms | p95 | clicks, p95 | cores used |\n|---|---|---|---|---|---|")
    for one in rooms:
        name = "live page" if one.live else "page"
        middle, clicks = statistics.median(one.times[name]), "–" if one.live else f"{one.p95('click'):.0f}"
        print(f"| {one.visitors} | {one.live} | {middle:.0f} | {one.p95(name):.0f} | {clicks} | {one.cores:.2f} |")
    print("\n| cores | `WORKERS` | nobody on Live | half | everybody |\n|---|---|---|---|---|")
    shares = (0, 0.5, 1)
    for cores in (2, 8, 32):
        held = [f"{visitors_held(rooms, cores, share):.0f}" for share in shares]
        print(f"| {cores} | {cores // CORES_MEASURED} | {' | '.join(held)} |")
    needed = [500 / each if (each := visitors_held(rooms, 1, share)) else math.inf for share in shares]
    print(f"| for 500 visitors | | {' | '.join(f'{cores:.1f} cores' for cores in needed)} |")
    print(f"\nA browser on Live is given {fetch_live_files(url) / 1e6:.1f} MB once.")


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--visitors", type=int, default=50)
    parser.add_argument("--live", type=int, default=0, help="of them on Live")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--think", type=float, default=5)
    parser.add_argument("--table", action="store_true", help="of several rooms, and what other servers hold; on two cores")
    parser.add_argument("--pause", type=float, default=5, help="seconds before each room of the table")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--url", help="of an app that runs already")
    parser.add_argument("--pid", type=int, help="of its process, for its CPU time")
    args = parser.parse_args()
    from tests.benchmarks.landing_page_load import server

    with contextlib.nullcontext((args.url, args.pid)) if args.url else server(OMP_WAIT_POLICY="PASSIVE") as (url, pid):
        if args.table:
            return asyncio.run(table(url, pid, args.seconds, args.think, args.pause))
        asyncio.run(one(url, pid, args.rounds, random.Random(0)))
        found = asyncio.run(room(url, pid, args.visitors, args.live, args.seconds, args.think, random.Random(1)))
        say_room(found, args.seconds, args.think)


if __name__ == "__main__":
    main()
