"""A small web server on this computer that can misbehave, an empty cache, and kinds of data for one test only."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from assay.data import kinds


@dataclass
class Behaviour:
    """What the server does with the files it has."""

    files: dict[str, bytes] = field(default_factory=dict)
    cut_at: list[int] = field(default_factory=list)
    """Numbers of bytes to send in the first, second, ... answer before the connection is closed."""

    ignore_range: bool = False
    etag: bool = True
    length: bool = True
    status: int = 0
    """Refuse everything with this code."""

    asked: list[str] = field(default_factory=list)
    """The `Range` of every request, or 'all'."""

    url: str = ""


def handler(behaviour: Behaviour) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *arguments: object) -> None:
            pass

        def do_GET(self) -> None:
            name, wanted = self.path.lstrip("/"), self.headers.get("Range")
            behaviour.asked.append(wanted or "all")
            if behaviour.status or name not in behaviour.files:
                self.send_error(behaviour.status or 404)
                return
            content, tag = behaviour.files[name], f'"{hash(behaviour.files[name])}"'
            start = int(wanted[6:].rstrip("-")) if wanted and not behaviour.ignore_range else 0
            if start and self.headers.get("If-Range") not in (None, tag):
                start = 0
            if start >= len(content) > 0:
                self.send_error(416)
                return
            self.send_response(206 if start else 200)
            if start:
                self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
            if behaviour.length:
                self.send_header("Content-Length", str(len(content) - start))
            if behaviour.etag:
                self.send_header("ETag", tag)
            self.end_headers()
            end = start + behaviour.cut_at.pop(0) if behaviour.cut_at else len(content)
            try:
                self.wfile.write(content[start:end])
            except ConnectionError:
                pass  # the client closed the connection

    return Handler


@pytest.fixture
def server() -> Iterator[Behaviour]:
    behaviour = Behaviour()
    service = ThreadingHTTPServer(("127.0.0.1", 0), handler(behaviour))
    behaviour.url = f"http://127.0.0.1:{service.server_port}"
    thread = threading.Thread(target=service.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    yield behaviour
    service.shutdown()
    service.server_close()
    thread.join()


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, and no proxies, because the server is on this computer."""
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ASSAY_DATA_MIRROR"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path / "cache"


@pytest.fixture
def new_kinds() -> Iterator[None]:
    """Kinds that the test registers are gone afterwards."""
    before = dict(kinds._kinds)
    yield
    kinds._kinds.clear()
    kinds._kinds.update(before)
