"""Data sets that their publishers offer for download: addresses, cards, checksums and readers.

Checksums are those of files that were downloaded and hashed. Where there is no checksum, that of the first download is
written next to the file and compared from then on (`fetch.py`). Nothing is redistributed.
"""

from __future__ import annotations

import http.client
import json
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path

from assay.data.dataset import OFFICIAL, Card, DataSet
from assay.data.fetch import damage, fetch, kept, place
from assay.data.transfer import Download, DownloadProgress, opened, quiet
from assay.errors import AssayError
from assay.naming import did_you_mean

MIRROR = "ASSAY_DATA_MIRROR"
"""Environment variable: a folder or an address with the same files, for computers without internet."""

MLIPAUDIT = "InstaDeepAI/MLIPAudit-data"
_HUB = "https://huggingface.co"
_NCI = "https://raw.githubusercontent.com/Honza-R/NCIAtlas/9fa8296f2fb04ed0751bf099fa454735f85d025a/packaged_sets"
_MLFF_COMMIT = "dda2c2e986c7856aadc28a573eadf4846ee7c925"
_MLFF = f"https://codeload.github.com/leifjacobson/MLFF_test_data/tar.gz/{_MLFF_COMMIT}"


@dataclass(frozen=True)
class Official:
    """A published set: its card, its download, and its reader. `{revision}` in the address stands for a commit."""

    card: Card
    download: Download
    reader: Callable[[Path, Card], list[DataSet]]

    @property
    def here(self) -> bool:
        """True if the file has been fetched."""
        return kept(self.download.file) is not None

    def damage(self) -> str:
        """Why the file in the cache cannot be used, as words that follow its name; empty if it can."""
        return damage(self.download.file, self.download.sha256)

    def read(self) -> list[DataSet]:
        """Read the records from the file in the cache; those that cannot judge any model are left out."""
        from assay.data.plausible import without_defects

        if not self.here:
            name = self.card.name
            raise AssayError(f"the data set '{name}' has not been fetched; run: assay data fetch {name}")
        if reason := self.damage():
            path = place(self.download.file)
            raise AssayError(f"'{path}' {reason}; fetch it again with: assay data fetch {self.card.name}")
        return [without_defects(data) for data in self.reader(place(self.download.file), self.known_card())]

    def known_card(self) -> Card:
        """The card; where the sha256 is not part of the program, with address and sha256 of the first download."""
        note = kept(self.download.file)
        return replace(self.card, sha256=note.sha256, source=note.url) if note and not self.card.sha256 else self.card


def find_official(name: str) -> Official:
    """A published set by name."""
    sets = official()
    if name not in sets:
        raise AssayError(
            f"there is no published data set '{name}'{did_you_mean(name, sets)}; 'assay list data' shows the names"
        )
    return sets[name]


def fetch_official(name: str, revision: str = "", progress: DownloadProgress = quiet) -> Path:
    """Download a published set unless it is here and intact; an archive that cannot be read is not kept."""
    wanted = find_official(name)
    download = _located(wanted.download, revision)
    return fetch(download, progress, check=lambda path: wanted.reader(path, wanted.card))


def _located(download: Download, revision: str) -> Download:
    """The download with its final address: that of the mirror, or with the commit filled in."""
    if revision and "{revision}" not in download.url:
        raise AssayError(f"'{download.file}' has a fixed revision; leave out --revision")
    if revision and not re.fullmatch(r"[0-9a-f]{40}", revision):
        raise AssayError(f"the revision '{revision}' is not a full commit hash of 40 hexadecimal digits")
    if mirror := os.environ.get(MIRROR):
        base = mirror if "://" in mirror else Path(mirror).expanduser().resolve().as_uri()
        return replace(download, url=f"{base.rstrip('/')}/{download.file}", revision=revision)
    if "{revision}" not in download.url or not (revision or damage(download.file, download.sha256)):
        return download
    commit = revision or _fetched_revision() or _current_revision()
    return replace(download, url=download.url.format(revision=commit), revision=commit)


def _fetched_revision() -> str:
    """The commit of files that were fetched from the same repository before, so that all files fit together."""
    notes = [kept(entry.download.file) for entry in official().values() if "{revision}" in entry.download.url]
    return next((note.revision for note in notes if note and note.revision), "")


def _current_revision() -> str:
    """The newest commit of the repository."""
    url = f"{_HUB}/api/datasets/{MLIPAUDIT}"
    try:
        with opened(url) as answer:
            found = str(json.loads(answer.read(2**24))["sha"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", error)
        raise AssayError(
            f"'{url}' does not give the current revision ({reason}); check the network and HTTPS_PROXY, give "
            f"--revision, or set {MIRROR} to a folder or address that has the files"
        ) from error
    if not re.fullmatch(r"[0-9a-f]{40}", found):
        raise AssayError(f"'{url}' gives a revision '{found[:60]}' that is not a commit hash; give --revision")
    return found


@cache
def official() -> Mapping[str, Official]:
    """All published sets by name."""
    entries = [*_nci_sets(), *_mlff_sets(), *_mlipaudit_sets()]
    return {entry.card.name: entry for entry in entries}


_HBONDS = "Řezáč, J. Chem. Theory Comput. 16, 2355 (2020)"
_NCI_SETS = (
    ("D442x10", 442, 10, 3_494_453, "1fd72a7b50b5afc71d5c7b784f136972e36020746d8635af8e28dd46ea03d544",
     "London dispersion, elements up to Xe", "Řezáč, Phys. Chem. Chem. Phys. 24, 14780 (2022)"),
    ("HB375x10", 375, 10, 2_783_702, "3ec52600dbf83b48729795858615a0c0e9411a5c21354c3e453c966f35f285af",
     "hydrogen bonds of organic molecules", _HBONDS),
    ("HB300SPXx10", 300, 10, 2_116_482, "cfa420253be63395ef3548de9b389af15bc3a03feb185a8a22e942fef085d120",
     "hydrogen bonds with S, P and halogens", "Řezáč, J. Chem. Theory Comput. 16, 6305 (2020)"),
    ("IHB100x10", 100, 10, 737_326, "4e15f1456eb9fba28dd7e2cca4cb4cfdd19712863ce9a513fc8b0e92bea93fdd",
     "hydrogen bonds of ions", _HBONDS),
    ("R739x5", 739, 5, 2_437_334, "0f6f122dcebe61e508ee1dccd4890ceb4329449d827fe361196de90eae0e1176",
     "repulsive contacts", "Kříž, Nováček and Řezáč, J. Chem. Theory Comput. 17, 1548 (2021)"),
    ("SH250x10", 250, 10, 1_712_619, "88fcf5feef0e431f4600ccba27fca7bd3d0e5738d9fe595a68229de8556fe88e",
     "sigma holes", "Kříž and Řezáč, Phys. Chem. Chem. Phys. 24, 14794 (2022)"),
)  # fmt: skip


def _nci_sets() -> list[Official]:
    def read(path: Path, card: Card) -> list[DataSet]:
        from assay.data.nci_atlas import read_nci_atlas

        return read_nci_atlas(path, card)

    sets = []
    for name, systems, points, size, sha256, what, citation in _NCI_SETS:
        file = f"NCIA_{name}_github_package.zip"
        card = Card(f"nci-{name.lower()}", "noncovalent_interactions", f"dissociation curves: {what}", "CCSD(T)/CBS",
                    "none stated in the repository; see its archive on Zenodo", citation, f"{_NCI}/{file}", OFFICIAL,
                    "kcal/mol, Å", sha256, f"{systems} records, {systems * points} structures")  # fmt: skip
        sets.append(Official(card, Download(file, f"{_NCI}/{file}", sha256, size), read))
    return sets


def _mlff_sets() -> list[Official]:
    download = Download(f"MLFF_test_data-{_MLFF_COMMIT[:8]}.tar.gz", _MLFF, revision=_MLFF_COMMIT)
    own = "Weber et al., arXiv:2505.06462 (2025)"
    torsions = Card("torsionnet500", "dihedral_scan", "torsion profiles of 500 drug-like fragments",
                    "DLPNO-CCSD(T)/CBS", "MIT", f"Rai et al., J. Chem. Inf. Model. 62, 785 (2022); {own}", _MLFF,
                    OFFICIAL, "Hartree, Å", "", "500 records, 12000 structures")  # fmt: skip
    tautomers = Card("tautobase", "tautomers", "pairs of tautomers from Tautobase", "ωB97X-D3(BJ)/def2-TZVPD", "MIT",
                     f"Wahl and Sander, J. Chem. Inf. Model. 60, 1085 (2020); {own}", _MLFF, OFFICIAL, "Hartree, Å",
                     "", "1499 records, 2998 structures")  # fmt: skip
    return [
        Official(torsions, download, partial(_read_mlff, folder="TorsionNet500", energy="E[DLPNO-CCSD(T)](Ha)")),
        Official(tautomers, download, partial(_read_mlff, folder="tautobase", energy="E[wB97X-D3BJ/def2-TZVPD](Ha)")),
    ]


def _read_mlff(path: Path, card: Card, folder: str, energy: str) -> list[DataSet]:
    from assay.data.mlff_test_data import read_mlff

    return read_mlff(path, card, folder, energy)


_PACKINGS = (
    ("nci-atlas", "noncovalent_interactions", ("NCI_Atlas.json",), "2206 records, 18365 structures"),
    ("torsionnet500-mlipaudit", "dihedral_scan", ("TorsionNet500.json",), "500 records, 12000 structures"),
    ("folmsbee", "conformer_selection", ("folmsbee_dataset.json",), "about 700 records"),
    ("wiggle150", "conformer_selection", ("wiggle150_dataset.json",), "3 records, 150 structures"),
    ("tautobase-mlipaudit", "tautomers", ("tautobase_2792.json",), "about 1391 records"),
    ("openff", "reference_geometry_stability", ("openff_n200_neutral.json", "openff_n20_charged.json"),
     "220 records, 220 structures"),
    ("grambow", "reactivity", ("grambow_dataset.json",), "about 11960 records"),
    ("grambow-neb", "nudged_elastic_band", ("grambow_dataset_neb.json",), "100 records, 300 structures"),
    ("bonds-mlipaudit", "bond_length_distribution", ("bond_length_distribution.json",), "8 records, 8 structures"),
    ("rings-mlipaudit", "ring_planarity", ("ring_planarity_data.json",), "6 records, 6 structures"),
)  # fmt: skip
"""Sets as MLIPAudit packs them: our name, their archive, the files in it, and the size that the papers state."""


def _mlipaudit_sets() -> list[Official]:
    from assay.data.mlipaudit import LAYOUTS

    sets = []
    for name, archive, members, size in _PACKINGS:
        layout = LAYOUTS[members[0]]
        url = f"{_HUB}/datasets/{MLIPAUDIT}/resolve/{{revision}}/{archive}.zip"
        what = layout.what if len(members) == 1 else "molecules of the OpenFF industry set, neutral and charged"
        card = Card(name, layout.kind, f"{what}, as MLIPAudit packs them", layout.level,
                    "none stated by the packing; the original data keep their terms", layout.citation, url, OFFICIAL,
                    layout.units, "", size)  # fmt: skip
        sets.append(Official(card, Download(f"mlipaudit-{archive}.zip", url), partial(_read_packing, members=members)))
    return sets


def _read_packing(path: Path, card: Card, members: tuple[str, ...]) -> list[DataSet]:
    from assay.data.archives import read_members
    from assay.data.mlipaudit import read_files

    found = read_members(path, f"'{card.name}'", lambda name: Path(name).name in members)
    missing = [name for name in members if name not in {Path(found_name).name for found_name in found}]
    if missing:
        raise AssayError(f"there is no file '{missing[0]}' in '{path}'; the publisher has changed the archive")
    sets = read_files({name: partial(bytes, content) for name, content in found.items()}, str(path), OFFICIAL)
    return [replace(data, card=replace(data.card, licence=card.licence)) for data in sets]
