"""Benchmark: many thousands of pages with uploads, one server: whether its memory, threads and files stay level.

Run `python tests/benchmarks/soak.py [--pages 20000] [--visitors 8] [--minutes 600] [--idle 3]`.
Visits are those of `visitors.py`, without a pause; 18 in 100 upload a photo that nobody else has, 16 in 1,000 a model and open it.
A row each half minute: the server's resident memory, threads, open files, and files in its folder for temporary ones. The last rows
are of a server that nobody visits. 20,000 pages are a day of a hall in which somebody opens one every 4.3 s.
"""

import argparse
import asyncio
import io
import random
import struct
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path[0] = str(ROOT)

import numpy as np  # noqa: E402
import psutil  # noqa: E402
from PIL import Image  # noqa: E402
from streamlit.proto.BackMsg_pb2 import BackMsg  # noqa: E402
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg  # noqa: E402
from websockets.exceptions import ConnectionClosed  # noqa: E402

from tests.benchmarks.landing_page_load import server  # noqa: E402
from tests.benchmarks.visitors import CLICKS, Visit  # noqa: E402

PHOTO_SHARE, MODEL_SHARE, SAMPLE_S = 0.18, 0.016, 30
WEIGHTS = ROOT / "assets" / "models" / "vit-tiny-patch8-128.safetensors"


def own_photo(chance: random.Random) -> bytes:
    """A JPEG of 1600 × 1200 that nobody else has."""
    pixels, file = np.frombuffer(chance.randbytes(90 * 120 * 3), np.uint8).reshape(90, 120, 3), io.BytesIO()
    Image.fromarray(pixels).resize((1600, 1200)).save(file, "JPEG")
    return file.getvalue()


def own_model(chance: random.Random) -> bytes:
    """The shipped weights, four bytes of them drawn anew: a file that nobody else has."""
    weights = bytearray(WEIGHTS.read_bytes())
    weights[-4:] = struct.pack("<2e", chance.random(), chance.random())
    return bytes(weights)


class Uploading(Visit):
    """A visitor who also sends files, as a browser does: with the server's cookie, to an address that the page asks for."""

    def __init__(self, url: str, chance: random.Random) -> None:
        super().__init__(url, chance)
        self.url, self.uploaders, self.buttons = url, dict[str, str](), dict[str, str]()
        with urllib.request.urlopen(f"{url}/_stcore/health", timeout=60) as answer:
            cookie = answer.headers["set-cookie"].partition(";")[0]
        self.headers = {"Cookie": cookie, "X-Xsrftoken": cookie.partition("=")[2]}

    def _read(self, delta: Any) -> None:
        super()._read(delta)
        shown = delta.new_element
        if shown.WhichOneof("type") == "file_uploader":
            self.uploaders[shown.file_uploader.id.split("-", 2)[2]] = shown.file_uploader.id
        if shown.WhichOneof("type") == "button":
            self.buttons[shown.button.id.split("-", 2)[-1]] = shown.button.id

    async def upload(self, key: str, name: str, data: bytes) -> None:
        """Drop a file on an uploader; until the page has run with it."""
        asked = BackMsg()
        asked.file_urls_request.request_id = name
        asked.file_urls_request.file_names.append(name)
        await self.socket.send(asked.SerializeToString())
        given = (await self._hear("file_urls_response")).file_urls_response.file_urls[0]
        status = await asyncio.to_thread(self._put, given.upload_url, name, data)
        assert status == 204, status
        message = self._message()
        state = message.rerun_script.widget_states.widgets.add(id=self.uploaders[key])
        info = state.file_uploader_state_value.uploaded_file_info.add(file_id=given.file_id, name=name, size=len(data))
        info.file_urls.CopyFrom(given)
        await self._run(message)

    async def press(self, key: str) -> None:
        message = self._message()
        message.rerun_script.widget_states.widgets.add(id=self.buttons[key], trigger_value=True)
        await self._run(message)

    def _message(self) -> BackMsg:
        message = BackMsg()
        message.rerun_script.page_script_hash, message.rerun_script.query_string = self.hash, self.query
        return message

    async def _hear(self, kind: str) -> ForwardMsg:
        while True:
            said = ForwardMsg.FromString(await asyncio.wait_for(self.socket.recv(), 120))
            if said.WhichOneof("type") == kind:
                return said

    def _put(self, where: str, name: str, data: bytes) -> int:
        head = f'--x\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n\r\n'.encode()
        kind = {"Content-Type": "multipart/form-data; boundary=x"}
        asked = urllib.request.Request(self.url + where, head + data + b"\r\n--x--\r\n", self.headers | kind, method="PUT")
        with urllib.request.urlopen(asked, timeout=120) as answer:
            return answer.status


class Soak:
    """What visitors have done so far, and what the server took."""

    def __init__(self, url: str, pid: int, temporary: Path) -> None:
        self.url, self.process, self.temporary = url, psutil.Process(pid), temporary
        self.pages = self.photos = self.models = self.faults = 0
        self.begun, self.rows = time.monotonic(), list[tuple[float, ...]]()

    async def visitor(self, most: int, until: float, chance: random.Random) -> None:
        """Page after page; some with an upload."""
        while self.pages < most and time.monotonic() < until:
            visit = Uploading(self.url, chance)
            try:
                await self._page(visit, chance.random())
            except (OSError, TimeoutError, AssertionError, KeyError, ConnectionClosed) as error:
                self.faults += 1
                print(f"fault: {type(error).__name__} {str(error)[:200]}", flush=True)
            finally:
                await visit.leave()

    async def _page(self, visit: Uploading, drawn: float) -> None:
        chance = visit.chance
        if drawn < MODEL_SHARE:
            await visit.open("bring")
            await visit.upload("own_model_0", f"mine-{chance.randrange(10**9)}.safetensors", own_model(chance))
            await visit.press("own_open")
            self.models += 1
        elif drawn < MODEL_SHARE + PHOTO_SHARE:
            await visit.open(chance.choice(list(CLICKS)))
            await visit.upload("file", f"mine-{chance.randrange(10**9)}.jpg", own_photo(chance))
            self.photos += 1
        else:
            await visit.open(chance.choice(list(CLICKS)))
        self.pages += 1

    async def watch(self) -> None:
        """A row each half minute."""
        print("| minutes | pages | photos | models | memory, MB | threads | open files | temporary files |\n" + "|---" * 8 + "|")
        while True:
            self.sample()
            await asyncio.sleep(SAMPLE_S)

    def sample(self) -> None:
        with self.process.oneshot():
            memory, threads, files = self.process.memory_info().rss / 1e6, self.process.num_threads(), self.process.num_fds()
        left = sum(file.is_file() for file in self.temporary.rglob("*"))
        row = ((time.monotonic() - self.begun) / 60, self.pages, self.photos, self.models, memory, threads, files, left)
        self.rows.append(row)
        print("| " + " | ".join(f"{value:.1f}" if i == 0 else f"{value:.0f}" for i, value in enumerate(row)) + " |", flush=True)

    def level(self) -> str:
        """How the second half of the visited time compares with the quarter before it."""
        busy = [row for row in self.rows if row[1] < self.pages] or self.rows
        before, after = busy[len(busy) // 4 : len(busy) // 2] or busy, busy[len(busy) // 2 :]
        mean = [[sum(row[i] for row in part) / len(part) for part in (before, after)] for i in (4, 5, 6, 7)]
        names = ("memory, MB", "threads", "open files", "temporary files")
        return "\n".join(
            f"{name}: {a:.0f} in the second quarter, {b:.0f} in the second half" for name, (a, b) in zip(names, mean, strict=True)
        )


async def soak(at: Soak, given: argparse.Namespace) -> None:
    """Visitors until there were enough pages, then none."""
    watching = asyncio.create_task(at.watch())
    until = time.monotonic() + 60 * given.minutes
    await asyncio.gather(*(at.visitor(given.pages, until, random.Random(i)) for i in range(given.visitors)))
    print(f"{at.pages} pages, {at.faults} faults; nobody visits from now on", flush=True)
    at.sample()
    await asyncio.sleep(60 * given.idle)
    watching.cancel()
    print(at.level())


def main() -> int:
    """Print the table; 1 if a page failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, default=20_000)
    parser.add_argument("--visitors", type=int, default=8, help="at once")
    parser.add_argument("--minutes", type=float, default=600, help="at most")
    parser.add_argument("--idle", type=float, default=3, help="minutes without visitors, at the end")
    parser.add_argument("--environment", nargs="*", default=["INSIDE_VIT_PUBLIC=1", "INSIDE_VIT_MEMORY_GB=2"], help="of the server")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        told = dict(one.split("=", 1) for one in given.environment)
        with server(OMP_WAIT_POLICY="PASSIVE", TMPDIR=temporary, **told) as (url, pid):
            at = Soak(url, pid, Path(temporary))
            asyncio.run(soak(at, given))
    return int(at.faults > 0)


if __name__ == "__main__":
    raise SystemExit(main())
