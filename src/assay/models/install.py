"""Install commands that work where Assay itself came from: a package index, or a clone of the repository."""

from __future__ import annotations

import importlib.metadata
import json
from functools import cache
from pathlib import Path
from urllib.parse import unquote, urlsplit

import assay

PROJECT = "mlip-assay"


def install_hint(command: str) -> str:
    """The command as it works on this computer.

    Adapters write `pip install 'mlip-assay[xtb]'`, as for an index. Where Assay runs from a clone, the clone takes the
    place of the name.
    """
    clone = clone_folder()
    return command if clone is None else command.replace(f"'{PROJECT}[", f"-e '{clone}[")


@cache
def clone_folder() -> Path | None:
    """The clone from which Assay runs or was installed; None if it came from an index."""
    source = Path(assay.__file__).resolve().parents[2]
    recorded = _recorded_folder()
    return next((folder for folder in (source, recorded) if folder is not None and _is_clone(folder)), None)


def _is_clone(folder: Path) -> bool:
    file = folder / "pyproject.toml"
    return file.is_file() and f'name = "{PROJECT}"' in file.read_text(encoding="utf-8")


def _recorded_folder() -> Path | None:
    """The folder that pip wrote down when it installed Assay from one."""
    try:
        text = importlib.metadata.distribution(PROJECT).read_text("direct_url.json")
    except importlib.metadata.PackageNotFoundError:
        return None
    address = urlsplit(str(json.loads(text).get("url", ""))) if text else None
    return Path(unquote(address.path)) if address is not None and address.scheme == "file" else None
