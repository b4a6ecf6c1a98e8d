"""What reaches a terminal or a file: no code in a name or message is obeyed, and no message floods the screen."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from assay.data.transfer import Download, _explanation
from assay.report.table import as_html, as_text
from assay.report.text import text_report
from commands import LONGEST, command, document
from verdicts import result, verdict

HOSTILE = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202e\r"
OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u2028\u2029\ud800-\udfff]")
"""What a terminal obeys, apart from new lines and tabs."""

MODEL = """
from assay.sabotage.sound import SoundPotential

class Mine(SoundPotential):
    claims = ('Cu', 'Au')
    def evaluate(self, atoms):
        if 'Au' in atoms.symbols:
            code = chr(27) + ']0;owned' + chr(7) + chr(27) + '[2J' + chr(0x9b) + '31m' + chr(0x202e)
            raise ValueError('no gold ' + code + EXTRA)
        return super().evaluate(atoms)
"""
QUICK = ("-j", "0", "-b", "species_supported", "-o", "a[/b]")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model with a hostile name that refuses gold with a hostile message, and its results."""
    place = tmp_path_factory.mktemp("hostile")
    (place / "m\x1b[31m.py").write_text("EXTRA = ''\n" + MODEL)
    done = command("check", "m\x1b[31m.py:Mine", *QUICK, "--junit", "junit.xml", where=place)
    assert done.returncode == 1, done.stderr
    (place / "printed").write_text(done.stdout + done.stderr, encoding="utf-8")
    return place


def test_the_table_of_a_hostile_model_is_harmless(folder: Path) -> None:
    printed = (folder / "printed").read_bytes().decode("utf-8")
    assert "no gold" in printed
    assert "x1b" in printed
    assert OBEYED.findall(printed) == []


@pytest.mark.parametrize("form", [(), ("--json",), ("--json", "--detail"), ("--csv",)], ids=" ".join)
def test_scores_of_a_hostile_model_are_harmless(folder: Path, form: tuple[str, ...]) -> None:
    done = command("score", "a[/b]", "-b", "species_supported", *form, where=folder)
    assert done.returncode == 0
    assert OBEYED.findall(done.stdout + done.stderr) == []
    if "--json" in form:
        (model,) = document(done.stdout)["models"]
        assert model["name"] == "m\x1b[31m.py:Mine", "programs read the same text"


def test_the_junit_file_of_a_hostile_model_is_harmless(folder: Path) -> None:
    content = (folder / "junit.xml").read_bytes().decode("utf-8")
    (case,) = ElementTree.fromstring(content)
    assert OBEYED.findall(content) == []
    assert "no gold" in case[0].attrib["message"]


def test_on_a_terminal_only_our_own_codes_arrive(folder: Path) -> None:
    """A progress bar is drawn with codes of ours; the ones of the model are spelt out."""
    leader, follower = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "assay", "check", "m\x1b[31m.py:Mine", *QUICK],
        cwd=folder,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "120"},
        stdout=follower,
        stderr=follower,
        stdin=subprocess.DEVNULL,
    )
    os.close(follower)
    printed = b""
    while True:
        try:
            piece = os.read(leader, 65536)
        except OSError:  # the last writer has ended
            break
        printed += piece
        if not piece:
            break
    os.close(leader)
    assert process.wait(timeout=LONGEST) == 1
    text = printed.decode("utf-8", "replace")
    assert "no gold" in text
    assert "\x1b]0;" not in text
    assert "\x1b[2J" not in text
    assert "\x9b" not in text
    assert "\u202e" not in text


def test_a_message_of_three_megabytes_does_not_flood_the_screen(tmp_path: Path) -> None:
    (tmp_path / "m.py").write_text("EXTRA = 'x ' * 1_500_000\n" + MODEL)
    done = command("check", "m.py:Mine", *QUICK, where=tmp_path)
    assert done.returncode == 1
    assert len(done.stdout.splitlines()) < 200
    size = sum(path.stat().st_size for path in tmp_path.glob("a[[]/b]/*/outcomes/*.jsonl"))
    assert 0 < size < 3_000_000, "118 elements and more, each with a short reason"


def test_reports_in_python_are_harmless() -> None:
    shown = result(verdict("verification.deterministic", comment=HOSTILE + "y" * 3_000_000), name=HOSTILE)
    for text in (as_text(shown), as_html(shown), text_report(shown)):
        assert OBEYED.findall(text) == []
        assert len(text) < 300_000


@pytest.mark.parametrize(
    "arguments",
    [
        ("check", HOSTILE),
        ("check", f"{HOSTILE}.py:Mine"),
        ("run", "emt", "-s", HOSTILE),
        ("run", "emt", "-b", HOSTILE),
        ("run", "emt", "--data", HOSTILE),
        ("run", "emt", "-j", HOSTILE),
        ("list", HOSTILE),
        ("score", HOSTILE),
        ("check", "x" * 5000 + ".py:Mine"),
        ("run", "emt", "-s", "x" * 5000 + ".toml"),
        ("run", "emt", "-b", "x" * 5000 + ".py:Mine"),
        ("run", "emt", "--data", "x" * 5000),
        ("score", "x" * 5000),
    ],
    ids=lambda arguments: ascii(" ".join(arguments))[:40],
)
def test_a_wrong_name_is_one_short_sentence(
    arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from assay.cli.main import main

    monkeypatch.chdir(tmp_path)
    try:
        code = main(arguments)
    except SystemExit as left:
        code = int(left.code or 0)
    printed = capsys.readouterr()
    assert (code, printed.out) == (2, "")
    assert printed.err.count("\n") == 1
    assert len(printed.err) < 1500
    assert OBEYED.findall(printed.err) == []


def test_the_reason_of_a_server_is_harmless(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from urllib.error import HTTPError

    from assay.cli.output import print_to_stderr

    refusal = HTTPError("http://x/", 503, HOSTILE, None, None)  # type: ignore[arg-type]
    print_to_stderr([_explanation(Download("set.zip", "http://x/"), tmp_path / "part", refusal)])
    assert OBEYED.findall(capsys.readouterr().err) == []


@pytest.mark.parametrize(
    "content", [b"\xff\xfe", b"a = " + b"[" * 5000, b"a = " + b"9" * 5000], ids=["bytes", "deep", "long"]
)
def test_files_that_no_parser_likes_are_one_sentence(
    content: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from assay.cli.main import main

    (tmp_path / "mine.toml").write_bytes(content)
    (tmp_path / "data.toml").write_bytes(content)
    for arguments in (("-s", str(tmp_path / "mine.toml")), ("--data", str(tmp_path))):
        assert main(("run", "emt", *arguments)) == 2
        printed = capsys.readouterr().err
        assert printed.count("\n") == 1
        assert "Traceback" not in printed


def test_json_keeps_what_it_escapes(capsys: pytest.CaptureFixture[str]) -> None:
    from assay.cli.output import print_json

    value = {"text": HOSTILE + "Å\U000e0001\ud800", "list": ["a\nb"]}
    print_json(value)
    printed = capsys.readouterr().out
    assert OBEYED.findall(printed) == []
    assert json.loads(printed) == value
