"""The data of a run: what the user gives with `--data`, and embedded sets for all other kinds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.data.dataset import DataSet
from assay.data.embedded import defaults, embedded, of_kind
from assay.data.folder import CARD, read_folder
from assay.data.kinds import find_kind
from assay.data.mlipaudit import LAYOUTS, layout_files, read_files
from assay.errors import AssayError
from assay.naming import did_you_mean


@dataclass(frozen=True)
class DataSource:
    """The data of a run. Embedded sets are read when a benchmark asks for their kind."""

    given: tuple[DataSet, ...] = ()

    def read(self, kind: str, use: str = "") -> list[DataSet]:
        """The user's sets of this kind if there are any, else the embedded ones.

        Some publishers have one file of reactions for `use="tst"` and another for `use="neb"`. A set that names a use
        serves only this use, unless there is no other set; a set that names no use serves all uses.
        """
        sets = of_kind(find_kind(kind), self._given) or defaults(kind)
        fitting = [data for data in sets if not use or _use(data) in ("", use)]
        return fitting or sets

    def _given(self, kind: str) -> list[DataSet]:
        return [data for data in self.given if data.card.kind == kind]

    @property
    def remarks(self) -> tuple[str, ...]:
        """What was left out of the user's data or looks wrong in it; long lists are shortened."""
        return tuple(line for data in self.given for line in _shortened(data))


def open_data(places: Sequence[str]) -> DataSource:
    """Read and check the data that the user names: folders, or names from `assay list data`."""
    sets = tuple(data for place in places for data in _open(place))
    names: set[tuple[str, str]] = set()
    for data in sets:
        if (data.card.kind, data.card.name) in names:
            raise AssayError(f"two of the data sets have the name '{data.card.name}'; rename one, or leave it out")
        names.add((data.card.kind, data.card.name))
    return DataSource(sets)


def _open(place: str) -> list[DataSet]:
    path = Path(place).expanduser()
    if path.is_dir():
        return _open_folder(path)
    if path.is_file():
        raise AssayError(f"'{place}' is a file; give --data the folder of the file, or the name of a data set")
    if place in embedded():
        return [embedded()[place].read()]
    from assay.data.official import official  # imports what downloads need; few runs do

    if place in official():
        return official()[place].read()
    hint = did_you_mean(place, [*embedded(), *official()])
    raise AssayError(f"there is no folder and no data set '{place}'{hint}; 'assay list data' shows the names")


def _open_folder(folder: Path) -> list[DataSet]:
    """A folder with `data.toml`, a folder of such folders, or a folder in MLIPAudit's layout."""
    if (folder / CARD).exists():
        return [_own(folder)]
    inner = [path.parent for path in sorted(folder.glob(f"*/{CARD}"))]
    files = layout_files(folder)
    if not inner and not files:
        raise AssayError(
            f"the folder '{folder}' has no data in a supported layout: neither '{CARD}' nor a file of MLIPAudit, "
            f"such as '{sorted(LAYOUTS)[0]}'"
        )
    others = [_checked(data, data.card.source, strict=False) for data in read_files(files, str(folder))]
    return [_own(path) for path in inner] + others


def _own(folder: Path) -> DataSet:
    return _checked(read_folder(folder), str(folder), strict=True)


def _checked(data: DataSet, where: str, strict: bool) -> DataSet:
    from assay.data.plausible import plausible

    return plausible(data, where, strict)


def _use(data: DataSet) -> str:
    return str(data.records[0].info.get("use", "")) if data.records else ""


def _shortened(data: DataSet, most: int = 3) -> list[str]:
    """The first remarks about a set, and the number of the others."""
    if len(data.remarks) <= most + 1:
        return list(data.remarks)
    return [*data.remarks[:most], f"and {len(data.remarks) - most} more remarks about '{data.card.name}'"]
