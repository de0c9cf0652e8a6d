"""The page in Firefox, from file://, over WebDriver BiDi."""

from __future__ import annotations

import itertools
import json
import os
import queue
import re
import shutil
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.browser

_LISTENING = re.compile(r"WebDriver BiDi listening on (ws://\S+)")


class Bidi:
    """A command at a time over one websocket; events are kept."""

    def __init__(self, socket: Any) -> None:
        self.socket, self.events = socket, []
        self.ids = itertools.count(1)

    def call(self, method: str, **params: Any) -> Any:
        number = next(self.ids)
        self.socket.send(json.dumps({"id": number, "method": method, "params": params}))
        while True:
            message = json.loads(self.socket.recv(timeout=60))
            if message.get("id") == number:
                assert "error" not in message, message
                return message["result"]
            self.events.append(message)

    def run(self, context: str, expression: str) -> Any:
        """The value of a JavaScript expression; a promise is awaited."""
        result = self.call(
            "script.evaluate", expression=expression, target={"context": context}, awaitPromise=True
        )
        assert result["type"] == "success", result
        return result["result"].get("value")


def _firefox() -> str:
    path = os.environ.get("WARPGLASS_FIREFOX") or shutil.which("firefox-esr") or shutil.which("firefox")
    if path is None:
        pytest.skip("no firefox on this machine")
    return path


@pytest.fixture(scope="module")
def firefox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bidi]:
    """A headless Firefox with a profile of its own."""
    client = pytest.importorskip("websockets.sync.client")
    home = tmp_path_factory.mktemp("firefox")
    command = [
        _firefox(),
        "--headless",
        "--no-remote",
        "--profile",
        str(home),
        "--remote-debugging-port",
        "0",
    ]
    process = subprocess.Popen(
        command,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "HOME": str(home)},
    )
    found: queue.Queue[str] = queue.Queue()

    def read() -> None:
        assert process.stderr is not None
        for line in process.stderr:
            match = _LISTENING.search(line)
            if match:
                found.put(match.group(1))

    threading.Thread(target=read, daemon=True).start()
    try:
        address = found.get(timeout=60)
        with client.connect(f"{address}/session", max_size=2**26) as socket:
            bidi = Bidi(socket)
            bidi.call("session.new", capabilities={})
            bidi.call("session.subscribe", events=["log.entryAdded", "network.beforeRequestSent"])
            yield bidi
    finally:
        process.terminate()
        try:
            process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            process.kill()


READY = """new Promise((resolve) => {
  const look = () => document.querySelector('.wave-live[data-ready]') ? resolve(true) : setTimeout(look, 30);
  look();
})"""


@pytest.mark.parametrize("name", ["reduce.html", "busy.html"])
def test_page_works_from_a_file(firefox: Bidi, site: Path, name: str) -> None:
    firefox.events.clear()
    context = firefox.call("browsingContext.getTree")["contexts"][0]["context"]
    url = (site / name).as_uri()
    firefox.call("browsingContext.navigate", context=context, url=f"{url}#v=1&w=1&s=41", wait="complete")
    assert firefox.run(context, READY) is True
    assert firefox.run(context, "document.querySelectorAll('.mask .lane-cell').length") == 32
    before = firefox.run(context, "document.querySelector('.step-slider').value")
    firefox.run(context, "document.dispatchEvent(new KeyboardEvent('keydown', {key: 'j', bubbles: true}))")
    after = firefox.run(context, "document.querySelector('.step-slider').value")
    assert int(after) == int(before) + 1
    pixels = (
        "(() => { const c = document.querySelector('.wave-canvas');"
        "const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;"
        "return new Set(new Uint32Array(d.buffer)).size; })()"
    )
    firefox.run(
        context,
        "new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(() => resolve(1))))",
    )
    assert firefox.run(context, pixels) >= 3
    logs = [e["params"] for e in firefox.events if e.get("method") == "log.entryAdded"]
    assert [entry["text"] for entry in logs if entry["level"] in ("error", "warn")] == []
    requests = [
        e["params"]["request"]["url"]
        for e in firefox.events
        if e.get("method") == "network.beforeRequestSent"
    ]
    assert [one for one in requests if not one.startswith((url, "data:", "blob:"))] == []
