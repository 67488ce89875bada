"""A model hub on this machine, for tests: the files it gives, and the ways in which it does not."""

import http.server
import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Hub(http.server.BaseHTTPRequestHandler):
    """Answers /{repo}/resolve/main/{file} as the hub does, from `server.files`: bytes of model.safetensors, or files by name.

    `server.says` is a status to answer with, and `server.code` the hub's word for it; `server.cut` breaks the connection off
    after so many bytes, once; `server.waits` is how many seconds it takes to begin.
    """

    def do_HEAD(self):
        self.answer(body=False)

    def do_GET(self):
        self.answer(body=True)

    def answer(self, body):
        self.server.asked.append(f"{self.command} {self.path}")
        threading.Event().wait(self.server.waits)  # time.sleep does not, here
        repo, _, name = self.path.lstrip("/").partition("/resolve/main/")
        held = self.server.files.get(repo)
        data = held.get(name) if isinstance(held, dict) else held if name == "model.safetensors" else None
        if self.server.says:
            return self.refuse(self.server.says, self.server.code)
        if data is None:
            return self.refuse(404, "EntryNotFound" if repo in self.server.files else "RepoNotFound")
        self.send_response(200)
        for key, value in {"ETag": f'"{len(data)}"', "X-Repo-Commit": "a" * 40, "X-Linked-Size": len(data)}.items():
            self.send_header(key, str(value))
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if body:
            self.wfile.write(data[: self.server.cut])
            self.server.files.pop(repo) if self.server.cut else None

    def refuse(self, status, code):
        self.send_response(status)
        self.send_header("X-Error-Code", code)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


@contextmanager
def a_hub(folder, monkeypatch) -> Iterator[http.server.ThreadingHTTPServer]:
    """A hub, and everything here told to ask it; its cache lies in `folder`."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    server.files, server.asked, server.cut, server.says, server.code, server.waits = {}, [], None, 0, "", 0
    threading.Thread(target=server.serve_forever, daemon=True).start()
    point_at(f"http://127.0.0.1:{server.server_port}", folder, monkeypatch)
    yield server
    server.shutdown()
    server.server_close()


def point_at(address, folder, monkeypatch):
    """Have huggingface_hub ask that address, with an empty cache in `folder`."""
    from huggingface_hub import constants

    monkeypatch.setenv("VITCORE_MODELS", str(folder / "by-hand"))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr(constants, "ENDPOINT", address)
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", address + "/{repo_id}/resolve/{revision}/{filename}")
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(folder / "cache"))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    for part in ("file_download", "utils._http"):  # no waiting between tries
        monkeypatch.setattr(f"huggingface_hub.{part}.time.sleep", lambda _: None)
