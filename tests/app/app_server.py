"""The app as its server has it: started in this process, and asked by messages made by hand, as no page would send them."""

import asyncio
import contextlib
import re
import socket
import threading
import time
from collections.abc import Iterator

from streamlit import config
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState
from streamlit.runtime import Runtime
from streamlit.runtime.uploaded_file_manager import UploadedFileRec
from streamlit.web.server import Server
from visitor import MAIN
from websockets.sync.client import connect

SETTINGS = {"server.headless": True, "server.fileWatcherType": "none", "server.address": "127.0.0.1"}


@contextlib.contextmanager
def served() -> Iterator[str]:
    """A server of the app in a thread; its websocket's address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        settings = SETTINGS | {"server.port": free.getsockname()[1]}
    before = {name: config.get_option(name) for name in settings}
    for name, value in settings.items():
        config.set_option(name, value)
    held: dict[str, Server] = {}
    ready = threading.Event()

    async def run() -> None:
        held["server"] = Server(str(MAIN), False)
        await held["server"].start()
        ready.set()
        await held["server"].stopped

    thread = threading.Thread(target=asyncio.run, args=(run(),), daemon=True)
    thread.start()
    assert ready.wait(60)
    address = f"ws://127.0.0.1:{settings['server.port']}/_stcore/stream"
    try:
        yield address
    finally:
        held["server"].stop()
        thread.join(30)
        Runtime._instance = None
        for name, value in before.items():
            config.set_option(name, value)


class Visit:
    """One visitor's connection. `said` is all that the last run put on the page; `ids` are of controls ever seen.

    As a browser does, it tells the server which messages it has had: `kept`; `references` came in place of some.
    """

    def __init__(self, address: str, cookie: str = "", origin: str | None = None) -> None:
        sent = {"Cookie": cookie} if cookie else None
        self.socket = connect(
            address, subprotocols=["streamlit"], max_size=None, open_timeout=60, additional_headers=sent, origin=origin
        )  # fmt: skip
        self.session, self.page, self.states, self.ids, self.buttons = "", "", {}, {}, {}
        self.said: list[str] = []
        self.kept: set[str] = set()
        self.references = 0

    def close(self) -> None:
        self.socket.close()

    def open(self, page: str = "", query: str = "") -> "Visit":
        """Open a page by its address; waits until its script has run."""
        return self._run(page=page, query=query)

    def send(self, **values: object) -> "Visit":
        """Send the page again with these controls set, by key: text, or True for a button that was pressed."""
        fresh = {}
        for key, value in values.items():
            state = WidgetState(id=self.ids.get(key) or self.buttons[key])
            if isinstance(value, bool):
                state.trigger_value = value
                fresh[key] = state
            else:
                state.string_value = str(value)
                self.states[key] = state
        return self._run(fresh)

    def upload(self, key: str, name: str, data: bytes) -> "Visit":
        """Drop a file on an uploader."""
        record = UploadedFileRec(f"file-{name}", name, "image/png", data)
        Runtime.instance().uploaded_file_mgr.add_file(self.session, record)
        state = WidgetState(id=self.ids[key])
        info = state.file_uploader_state_value.uploaded_file_info.add()
        info.file_id, info.name, info.size = record.file_id, name, len(data)
        self.states[key] = state
        return self._run()

    def upload_address(self, name: str) -> str:
        """The address to which this visit may send a file, as a page asks for it before it sends one."""
        message = BackMsg()
        message.file_urls_request.request_id = "1"
        message.file_urls_request.file_names.append(name)
        self.socket.send(message.SerializeToString())
        while True:
            forward = ForwardMsg.FromString(self.socket.recv(timeout=60))
            if forward.WhichOneof("type") == "file_urls_response":
                return forward.file_urls_response.file_urls[0].upload_url

    def _run(self, fresh: dict | None = None, page: str | None = None, query: str = "") -> "Visit":
        message = BackMsg()
        message.rerun_script.query_string = query
        if page is not None:
            message.rerun_script.page_name = page
        else:
            message.rerun_script.page_script_hash = self.page
        message.rerun_script.widget_states.widgets.extend([*self.states.values(), *(fresh or {}).values()])
        message.rerun_script.cached_message_hashes.extend(self.kept)
        self.socket.send(message.SerializeToString())
        self.said = []
        until = time.monotonic() + 120
        while True:
            forward = ForwardMsg.FromString(self.socket.recv(timeout=until - time.monotonic()))
            self._read(forward)
            if forward.WhichOneof("type") == "script_finished" and forward.script_finished == ForwardMsg.FINISHED_SUCCESSFULLY:
                return self

    def _read(self, forward: ForwardMsg) -> None:
        kind = forward.WhichOneof("type")
        self.references += kind == "ref_hash"
        if kind == "new_session":
            self.session = forward.new_session.initialize.session_id or self.session
        if kind == "navigation":
            self.page = forward.navigation.page_script_hash
        if kind == "delta":
            self.kept.add(forward.hash)
            raw = forward.delta.SerializeToString()
            for found in re.findall(rb"\$\$ID-[0-9a-f]{32}-[\w.]+", raw):
                text = found.decode()
                self.ids[text.split("-", 2)[2]] = text
            element = forward.delta.new_element
            if element.WhichOneof("type") == "button":
                self.buttons[element.button.label] = element.button.id
            self.said.append(raw.decode("utf-8", "ignore"))

    @property
    def text(self) -> str:
        """All of the last run, with Markdown's backslashes left out."""
        return re.sub(r"\\([^a-zA-Z0-9\s])", r"\1", "\n".join(self.said))
