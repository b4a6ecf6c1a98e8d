"""A download is complete or is not kept, whatever the server does."""

from __future__ import annotations

import hashlib
import os
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from assay.data import fetch as fetching
from assay.data import transfer
from assay.data.fetch import damage, fetch, kept, place
from assay.data.transfer import Download
from assay.errors import AssayError

if TYPE_CHECKING:
    from conftest import Behaviour

CONTENT = bytes(range(256)) * 4096
SHA256 = hashlib.sha256(CONTENT).hexdigest()


def wanted(server: Behaviour, **changes: object) -> Download:
    server.files.setdefault("set.zip", CONTENT)
    return replace(Download("set.zip", f"{server.url}/set.zip", SHA256, len(CONTENT)), **changes)  # type: ignore[arg-type]


def complaint(download: Download) -> str:
    with pytest.raises(AssayError) as caught:
        fetch(download)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def left(cache: Path) -> set[str]:
    return {path.name for path in (cache / "data").iterdir()}


def test_a_file_comes_whole_and_is_fetched_only_once(server: Behaviour, cache: Path) -> None:
    seen: list[tuple[int, int | None]] = []
    path = fetch(wanted(server), lambda done, total: seen.append((done, total)))
    assert path.read_bytes() == CONTENT
    assert seen[-1] == (len(CONTENT), len(CONTENT))
    assert fetch(wanted(server)) == path == place("set.zip")
    assert server.asked == ["all"]
    assert left(cache) == {"set.zip", "set.zip.json"}


def test_a_download_that_breaks_off_goes_on_where_it_stopped(server: Behaviour, cache: Path) -> None:
    server.cut_at = [1000, 70_000]
    assert fetch(wanted(server)).read_bytes() == CONTENT
    assert server.asked == ["all", "bytes=1000-", "bytes=71000-"]


def test_a_connection_that_keeps_breaking_leaves_a_part_for_the_next_command(server: Behaviour, cache: Path) -> None:
    server.cut_at = [100] * transfer.ATTEMPTS
    message = complaint(wanted(server))
    assert message.endswith(
        "was lost 4 times, the last time after 400 bytes; run the same command to continue from there"
    )
    assert left(cache) == {"set.zip.part", "set.zip.part.json"}
    server.asked.clear()
    assert fetch(wanted(server)).read_bytes() == CONTENT
    assert server.asked == ["bytes=400-"]


def test_a_server_that_ignores_ranges_sends_all_of_it_again(server: Behaviour, cache: Path) -> None:
    server.cut_at, server.ignore_range = [5000], True
    assert fetch(wanted(server)).read_bytes() == CONTENT
    assert server.asked == ["all", "bytes=5000-"]


def test_a_file_that_changed_meanwhile_is_not_glued_to_the_old_part(server: Behaviour, cache: Path) -> None:
    unpinned = wanted(server, sha256="", bytes=None)
    server.cut_at = [5000] * transfer.ATTEMPTS
    complaint(unpinned)
    server.files["set.zip"] = CONTENT[::-1]
    assert fetch(unpinned).read_bytes() == CONTENT[::-1]


def test_without_a_hash_or_validator_nothing_is_resumed(server: Behaviour, cache: Path) -> None:
    server.cut_at, server.etag = [5000], False
    assert fetch(wanted(server, sha256="", bytes=None)).read_bytes() == CONTENT
    assert server.asked == ["all", "all"]


def test_a_part_that_is_too_long_is_thrown_away(server: Behaviour, cache: Path) -> None:
    server.cut_at = [5000] * transfer.ATTEMPTS
    complaint(wanted(server))
    with (cache / "data" / "set.zip.part").open("ab") as part:
        part.write(b"x" * len(CONTENT))
    assert fetch(wanted(server)).read_bytes() == CONTENT


def test_other_content_than_was_published_is_removed(server: Behaviour, cache: Path) -> None:
    server.files["set.zip"] = CONTENT[:-1] + b"?"
    message = complaint(wanted(server))
    assert message.endswith("its sha256 differs; it was deleted, fetch it again")
    assert left(cache) == set()


def test_another_size_than_was_published_is_not_downloaded(server: Behaviour, cache: Path) -> None:
    server.files["set.zip"] = CONTENT + b"?"
    assert f"has {len(CONTENT) + 1} bytes instead of {len(CONTENT)}" in complaint(wanted(server))


def test_a_stream_without_end_is_cut_off(server: Behaviour, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transfer, "LARGEST", 500_000)
    endless = wanted(server, sha256="", bytes=None)
    assert "has 1048576 bytes, and at most 500000 are downloaded" in complaint(endless)
    server.length = False
    assert "sends more than 500000 bytes; the download was deleted" in complaint(endless)
    assert "set.zip.part" not in left(cache)


def test_a_file_without_a_known_hash_is_trusted_once_and_compared_ever_after(server: Behaviour, cache: Path) -> None:
    unpinned = wanted(server, sha256="", bytes=None, revision="abc")
    path = fetch(unpinned)
    note = kept("set.zip")
    assert note is not None
    assert (note.sha256, note.bytes, note.revision) == (SHA256, len(CONTENT), "abc")
    assert damage("set.zip") == ""
    path.write_bytes(b"spoilt")
    assert damage("set.zip") == "does not match its sha256"
    assert fetch(unpinned).read_bytes() == CONTENT


def test_a_damaged_file_without_a_known_hash_is_not_replaced_by_another(server: Behaviour, cache: Path) -> None:
    unpinned = wanted(server, sha256="", bytes=None, revision="abc")
    path = fetch(unpinned)
    path.write_bytes(b"spoilt")
    server.files["set.zip"] = b"something else"
    assert "is not the file that was fetched before: its sha256 differs" in complaint(unpinned)
    assert damage("set.zip") == "does not match its sha256"


def test_another_revision_is_fetched_even_if_the_old_one_is_whole(server: Behaviour, cache: Path) -> None:
    fetch(wanted(server, sha256="", bytes=None, revision="abc"))
    server.files["set.zip"] = b"something else"
    assert fetch(wanted(server, sha256="", bytes=None, revision="abc")).read_bytes() == CONTENT
    assert fetch(wanted(server, sha256="", bytes=None, revision="abd")).read_bytes() == b"something else"


def test_what_is_not_what_it_should_be_is_not_kept(server: Behaviour, cache: Path) -> None:
    def refuse(path: Path) -> None:
        assert path.read_bytes() == CONTENT
        raise AssayError("no data in there")

    with pytest.raises(AssayError, match="no data in there"):
        fetch(wanted(server), check=refuse)
    assert left(cache) == set()


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (404, "no longer exists (HTTP 404); get the file elsewhere and set ASSAY_DATA_MIRROR"),
        (407, "the proxy asks for a password (HTTP 407); add it to HTTPS_PROXY"),
        (503, "(HTTP 503 Service Unavailable); try later"),
    ],
)
def test_the_reason_of_a_refusal_is_reported(server: Behaviour, cache: Path, status: int, words: str) -> None:
    server.status = status
    assert words in complaint(wanted(server))
    assert server.asked == ["all"]


def test_without_a_network_the_sentence_says_what_to_do(cache: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    message = complaint(Download("set.zip", f"http://127.0.0.1:{port}/set.zip"))
    assert "cannot be reached (Connection refused); check the network and HTTPS_PROXY, or get the file" in message


def test_a_proxy_that_is_not_there_is_an_offline_error(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    assert "cannot be reached" in complaint(Download("set.zip", "http://data.example/set.zip"))


def test_a_full_disk_is_one_sentence(server: Behaviour, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*arguments: object) -> None:
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(transfer, "_copy", full)
    assert complaint(wanted(server)).endswith(
        "cannot be written (No space left on device); set ASSAY_CACHE to a folder with enough space"
    )


def test_two_processes_do_not_write_one_file(server: Behaviour, cache: Path) -> None:
    (cache / "data").mkdir(parents=True)
    with fetching._alone(place("set.zip.part"), "set.zip"):
        assert complaint(wanted(server)) == "another process is fetching 'set.zip'; wait until it has finished"
    assert fetch(wanted(server)).read_bytes() == CONTENT


def serve(answer: Callable[[socket.socket], None]) -> str:
    """The address of a server that treats its first connections in its own way."""
    listener = socket.create_server(("127.0.0.1", 0))

    def work() -> None:
        with listener:
            for _ in range(8):
                with suppress(OSError):
                    connection, _ = listener.accept()
                    with connection:
                        connection.recv(4096)
                        answer(connection)

    threading.Thread(target=work, daemon=True).start()
    return f"http://127.0.0.1:{listener.getsockname()[1]}/set.zip"


def drip(connection: socket.socket) -> None:
    """A byte every 50 ms, for ever."""
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
    while True:
        connection.sendall(b"x")
        time.sleep(0.05)


def drip_header(connection: socket.socket) -> None:
    """Headers that never end, a byte every 50 ms."""
    connection.sendall(b"HTTP/1.1 200 OK\r\nX-Long: ")
    while True:
        connection.sendall(b"x")
        time.sleep(0.05)


def test_a_server_that_sends_byte_by_byte_is_given_up(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transfer, "TIMEOUT", 0.5)
    text = complaint(Download("set.zip", serve(drip)))
    assert "sends less than 10000 bytes per second" in text
    assert (cache / "data" / "set.zip.part").stat().st_size > 0, "and can be continued"


def test_a_server_whose_headers_never_end_is_given_up(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transfer, "TIMEOUT", 0.5)
    assert "cannot be reached (no answer in time)" in complaint(Download("set.zip", serve(drip_header)))


@pytest.mark.parametrize("place", ["http://[", "http://a b/", "http://" + "x" * 80, "gopher://x/", "http://127.0.0.1:9999999/",
                                   "file:///etc/passwd", "//", "http://127.0.0.1:port/"])  # fmt: skip
def test_a_redirect_to_an_address_that_is_none_is_one_sentence(cache: Path, place: str) -> None:
    def redirect(connection: socket.socket) -> None:
        connection.sendall(f"HTTP/1.1 302 Found\r\nLocation: {place}\r\nContent-Length: 0\r\n\r\n".encode())

    assert "set.zip" in complaint(Download("set.zip", serve(redirect)))


@pytest.mark.parametrize("length", ["²", "-5", "9" * 5000, "ten"])
def test_a_length_that_is_none_is_not_believed(cache: Path, length: str) -> None:
    def answer(connection: socket.socket) -> None:
        header = f"HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
        connection.sendall(header.encode("latin-1") + b"content")

    with suppress(AssayError):
        assert fetch(Download("set.zip", serve(answer))).read_bytes() == b"content"
