"""Where benchmarks get their data: what the user gave with `--data`, else what comes with the program."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.data.dataset import KINDS, MARKS, DataSet
from assay.data.embedded import defaults, embedded, marked
from assay.data.folder import CARD, read_folder
from assay.data.mlipaudit import LAYOUTS, layout_files, read_files
from assay.errors import AssayError
from assay.naming import did_you_mean


@dataclass(frozen=True)
class DataSource:
    """The data of a run. Embedded sets are only read when a benchmark asks for their kind."""

    given: tuple[DataSet, ...] = ()

    def read(self, kind: str, use: str = "") -> list[DataSet]:
        """The user's sets of this kind if there are any, else the embedded ones.

        Some packings have one file of reactions for `use="tst"` and another for `use="neb"`. A set that is marked for
        a use is taken for that use only, unless there is no other; a set without a mark serves every use.
        """
        if kind not in KINDS:
            raise AssayError(f"there is no kind of data '{kind}'{did_you_mean(kind, KINDS)}")
        sets = self._given(kind) or defaults(kind)
        fitting = [data for data in sets if not use or _use(data) in ("", use)]
        return fitting or sets

    def _given(self, kind: str) -> list[DataSet]:
        """What the user gave of a kind: sets of that kind, else marked records among reference geometries."""
        own = [data for data in self.given if data.card.kind == kind]
        if own or kind not in MARKS:
            return own
        return marked(kind, [data for data in self.given if data.card.kind == "reference_geometry"])

    @property
    def remarks(self) -> tuple[str, ...]:
        """What was left out of the user's data, and why; a long list is cut short."""
        return tuple(line for data in self.given for line in _shortened(data))


def open_data(places: Sequence[str]) -> DataSource:
    """Read and check what the user named: folders, or names from `assay list data`."""
    sets = tuple(data for place in places for data in _open(place))
    names: set[tuple[str, str]] = set()
    for data in sets:
        if (data.card.kind, data.card.name) in names:
            raise AssayError(f"two of the data sets given are called '{data.card.name}'; rename one, or leave it out")
        names.add((data.card.kind, data.card.name))
    return DataSource(sets)


def _open(place: str) -> list[DataSet]:
    path = Path(place).expanduser()
    if path.is_dir():
        return _open_folder(path)
    if path.is_file():
        raise AssayError(f"'{place}' is a file; --data takes the folder that it lies in, or a name")
    if place in embedded():
        return [embedded()[place].read()]
    from assay.data.official import official  # brings what downloads need, which few runs do

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
            f"the folder '{folder}' holds no data that is known: neither '{CARD}' nor a file of MLIPAudit's layout, "
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
    """The first remarks of a set, and how many there are beside them."""
    if len(data.remarks) <= most + 1:
        return list(data.remarks)
    return [*data.remarks[:most], f"and {len(data.remarks) - most} more remarks like these about '{data.card.name}'"]
