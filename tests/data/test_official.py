"""Published sets: fetched from their addresses (here: a mirror on this machine), checked, and read from the archive."""

from __future__ import annotations

import hashlib
import io
import json
import re
import tarfile
import zipfile
from dataclasses import replace
from math import cos, radians, sin
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from ase import units

from assay.cli.main import main
from assay.data import official as published
from assay.data.dataset import OFFICIAL
from assay.data.fetch import kept, place
from assay.data.kinds import KINDS
from assay.data.nci_atlas import read_nci_atlas
from assay.data.official import fetch_official, find_official, official
from assay.data.source import open_data
from assay.errors import AssayError
from mlipaudit_documents import CONFORMERS, GEOMETRY, REACTION

if TYPE_CHECKING:
    from conftest import Behaviour

KCAL = units.kcal / units.mol
COMMENT = (
    "charge=1 charge_a=1 charge_b=0 selection_a=1-1,3 selection_b=2 scaling={0} benchmark_Eint={1} "
    "benchmark_unit=kcal/mol group=IHB"
)


def zipped(files: dict[str, str]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as packed:
        for name, text in files.items():
            packed.writestr(name, text)
    return buffer.getvalue()


def tarred(files: dict[str, str]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as packed:
        for name, text in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(text.encode())
            packed.addfile(info, io.BytesIO(text.encode()))
    return buffer.getvalue()


def geometry(scaling: str, energy: float, z: float) -> str:
    return f"3\n{COMMENT.format(scaling, energy)}\n  N 0 0 0\n  O 0 0 {z}\n  H 0 1 0\n"


ATLAS = zipped(
    {
        "NCIA_IHB100x10/geometries/1.01_200.xyz": geometry("2.00", -1.0, 5.0),
        "NCIA_IHB100x10/geometries/1.01_080.xyz": geometry("0.80", 3.0, 2.0),
        "NCIA_IHB100x10/geometries/1.01_100.xyz": geometry("1.00", -9.0, 2.5),
        "NCIA_IHB100x10/geometries/1.02_100.xyz": geometry("1.00", -9.0, 2.5),
        "NCIA_IHB100x10/geometries/1.03_100.xyz": geometry("1.00", -9.0, 2.5).replace("scaling=1.00", ""),
        "NCIA_IHB100x10/tables/energies.txt": "not read",
    }
)


def conformation(angle: float, energy: float) -> dict[str, object]:
    return {
        "title": "t",
        "smiles": "OO",
        "coordinates": [[0, 1, 0], [0, 0, 0], [0, 0, 1.4], [sin(radians(angle)), cos(radians(angle)), 1.4]],
        "elements": ["H", "O", "O", "H"],
        "charge": 0,
        "E[DLPNO-CCSD(T)](Ha)": energy,
        "E[wB97X-D3BJ/def2-TZVPD](Ha)": energy - 0.5,
        "torsion_atoms": [1, 2, 3, 4],
        "torsion_angle": angle,
    }


PLAIN = {k: v for k, v in conformation(0.0, -1.0).items() if not k.startswith(("torsion", "E[DLPNO"))}
OXYWATER = PLAIN | {"coordinates": [[0, 1, 0], [0, 0, 0], [0, 0, 1.4], [0.9, -0.3, 0]]}
REPOSITORY = tarred(
    {
        "MLFF_test_data-x/TorsionNet500/fragment_010.json": json.dumps([conformation(0, -1.0), conformation(15, -1.1)]),
        "MLFF_test_data-x/TorsionNet500/fragment_002.json": json.dumps([conformation(0, -1.0), conformation(15, -1.2)]),
        "MLFF_test_data-x/TorsionNet500/fragment_003.json": json.dumps([PLAIN, PLAIN]),
        "MLFF_test_data-x/TorsionNet500/fragment_004.json": "[]",
        "MLFF_test_data-x/tautobase/tautomer_pair_1.json": json.dumps([PLAIN, OXYWATER]),
        "MLFF_test_data-x/tautobase/tautomer_pair_2.json": json.dumps([PLAIN, PLAIN]),
        "MLFF_test_data-x/README.md": "words",
    }
)
CONFORMER_ZIP = zipped({f"{n}_dataset.json": json.dumps([CONFORMERS]) for n in ("folmsbee", "wiggle150")})
OPENFF_ZIP = zipped({f"deep/openff_{n}.json": json.dumps({"mol_0": GEOMETRY}) for n in ("n200_neutral", "n20_charged")})


@pytest.fixture
def mirror(server: Behaviour, cache: Path, monkeypatch: pytest.MonkeyPatch) -> Behaviour:
    """A mirror with small archives in the published formats; the pinned hash is that of the small one."""
    monkeypatch.setenv("ASSAY_DATA_MIRROR", f"{server.url}/")
    entry = official()["nci-ihb100x10"]
    small = replace(entry.download, sha256=hashlib.sha256(ATLAS).hexdigest(), bytes=len(ATLAS))
    sets = {**official(), "nci-ihb100x10": replace(entry, download=small)}
    monkeypatch.setattr(published, "official", lambda: sets)
    server.files |= {
        "NCIA_IHB100x10_github_package.zip": ATLAS,
        official()["tautobase"].download.file: REPOSITORY,
        "mlipaudit-conformer_selection.zip": CONFORMER_ZIP,
        "mlipaudit-reference_geometry_stability.zip": OPENFF_ZIP,
    }
    return server


def test_every_published_set_has_a_card_and_no_invented_hash() -> None:
    files = {}
    for name, entry in official().items():
        assert entry.card.name == name
        assert entry.card.kind in KINDS
        assert entry.card.lane == OFFICIAL
        assert all((entry.card.what, entry.card.level, entry.card.licence, entry.card.citation, entry.card.size))
        assert re.fullmatch(r"([0-9a-f]{64})?", entry.download.sha256)
        assert entry.download.sha256 == entry.card.sha256
        assert entry.download.url.startswith("https://")
        files[entry.download.file] = entry.download.url
    assert len(set(files.values())) == len(files)
    assert sum(bool(entry.download.sha256) for entry in official().values()) == 6


def test_the_six_sets_of_the_atlas_have_2206_systems() -> None:
    sizes = [entry.card.size for name, entry in official().items() if entry.download.sha256]
    assert sum(int(size.split()[0]) for size in sizes) == 2206


def test_addresses_are_pinned_to_a_commit_or_have_a_place_for_one() -> None:
    assert all(
        re.search(r"[0-9a-f]{40}", entry.download.url) or "{revision}" in entry.download.url
        for entry in official().values()
    )


def test_an_atlas_set_is_read_from_its_zip(mirror: Behaviour) -> None:
    fetch_official("nci-ihb100x10")
    (data,) = open_data(["nci-ihb100x10"]).given
    (record,) = data.records
    assert record.id == "1.01"
    assert record.coordinates == (0.8, 1.0, 2.0)
    assert record.energies == pytest.approx((3.0 * KCAL, -9.0 * KCAL, -1.0 * KCAL))
    assert (record.info["atoms_a"], record.info["atoms_b"]) == ([0, 2], [1])
    assert (record.structures[0].charge, record.info["charge_a"], record.info["repulsive"]) == (1, 1, False)
    assert [remark.split(" and is")[0] for remark in data.remarks] == [
        "record '1.02' of 'nci-ihb100x10' has fewer than two structures",
        "record '1.03' of 'nci-ihb100x10' lacks the key 'scaling'",
    ]


def test_the_repulsive_atlas_set_is_marked(mirror: Behaviour, tmp_path: Path) -> None:
    (tmp_path / "r.zip").write_bytes(ATLAS)
    (data,) = read_nci_atlas(tmp_path / "r.zip", official()["nci-r739x5"].card)
    assert data.records[0].info["repulsive"] is True


def test_two_sets_of_one_repository_are_downloaded_once(mirror: Behaviour) -> None:
    assert fetch_official("torsionnet500") == fetch_official("tautobase")
    assert mirror.asked == ["all"]
    (torsions,), (tautomers,) = (find_official(name).read() for name in ("torsionnet500", "tautobase"))
    assert [record.id for record in torsions.records] == ["fragment_002", "fragment_010"]
    assert torsions.records[0].energies == pytest.approx((-1.0 * units.Hartree, -1.2 * units.Hartree))
    assert torsions.records[0].coordinates == (0.0, 15.0)
    assert torsions.records[0].info["torsion"] == [0, 1, 2, 3]
    assert "lacks the key 'E[DLPNO-CCSD(T)](Ha)'" in torsions.remarks[0]
    assert "cannot be read (it has no structures) and is left out" in torsions.remarks[1]
    assert tautomers.records[0].energies == pytest.approx((-1.5 * units.Hartree, -1.5 * units.Hartree))
    assert tautomers.card.sha256 == hashlib.sha256(REPOSITORY).hexdigest()
    assert [record.id for record in tautomers.records] == ["tautomer_pair_1"]
    (remark,) = tautomers.remarks
    assert (
        remark == "record 'tautomer_pair_2' of 'tautobase' has the same molecule twice (RMSD 0.0000 Å); it is left out"
    )


def test_one_packing_can_hold_two_sets_and_one_set_two_files(mirror: Behaviour) -> None:
    for name in ("wiggle150", "folmsbee", "openff"):
        fetch_official(name)
    assert len(mirror.asked) == 2
    names = [data.card.name for data in open_data(["wiggle150", "openff"]).given]
    assert names == ["wiggle150_dataset", "openff_n200_neutral", "openff_n20_charged"]


def test_a_folder_serves_as_mirror(mirror: Behaviour, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared" / "NCIA_IHB100x10_github_package.zip").write_bytes(ATLAS)
    monkeypatch.setenv("ASSAY_DATA_MIRROR", str(tmp_path / "shared"))
    assert fetch_official("nci-ihb100x10").read_bytes() == ATLAS
    assert mirror.asked == []


def test_an_archive_without_the_data_is_not_kept(mirror: Behaviour) -> None:
    mirror.files["mlipaudit-conformer_selection.zip"] = zipped({"folmsbee_dataset.json": json.dumps([CONFORMERS])})
    fetch_official("folmsbee")
    with pytest.raises(AssayError, match=r"no file 'wiggle150_dataset.json' in .*; the publisher has changed"):
        find_official("wiggle150").read()
    mirror.files["mlipaudit-reference_geometry_stability.zip"] = b"<html>please log in</html>"
    with pytest.raises(AssayError, match="the archive of 'openff' cannot be read"):
        fetch_official("openff")
    assert not place("mlipaudit-reference_geometry_stability.zip").exists()


def test_a_hostile_archive_is_not_kept(mirror: Behaviour) -> None:
    mirror.files["mlipaudit-conformer_selection.zip"] = zipped({"../folmsbee_dataset.json": "[]"})
    with pytest.raises(AssayError, match="with a path outside of it; it is not read"):
        fetch_official("folmsbee")
    assert kept("mlipaudit-conformer_selection.zip") is None


def test_damaged_data_is_not_used(mirror: Behaviour) -> None:
    fetch_official("nci-ihb100x10").write_bytes(ATLAS[:-5])
    with pytest.raises(AssayError, match="does not match its sha256; fetch it again with: assay data fetch nci-ihb"):
        open_data(["nci-ihb100x10"])


REVISION = "0123456789abcdef0123456789abcdef01234567"


def test_the_revision_is_asked_for_once_and_kept(
    server: Behaviour, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    zips = {
        "conformer_selection": CONFORMER_ZIP,
        "reactivity": zipped({"grambow_dataset.json": json.dumps({"1": REACTION})}),
    }
    repository = f"datasets/{published.MLIPAUDIT}/resolve/{REVISION}"
    server.files |= {f"{repository}/{name}.zip": content for name, content in zips.items()}
    server.files[f"api/datasets/{published.MLIPAUDIT}"] = json.dumps({"sha": REVISION}).encode()
    monkeypatch.setattr(published, "_HUB", server.url)
    published.official.cache_clear()
    try:
        for name in ("folmsbee", "grambow", "folmsbee"):
            fetch_official(name)
        note = kept("mlipaudit-reactivity.zip")
        assert note is not None
        assert note.revision == REVISION
        assert find_official("grambow").known_card().source == f"{server.url}/{repository}/reactivity.zip"
        assert len(server.asked) == 3
        server.files.pop(f"api/datasets/{published.MLIPAUDIT}")
        place("mlipaudit-reactivity.zip").unlink()
        fetch_official("grambow", REVISION)
        for name in ("mlipaudit-reactivity.zip", "mlipaudit-conformer_selection.zip"):
            place(name).unlink()
        with pytest.raises(AssayError, match=r"does not give the current revision .* give --revision"):
            fetch_official("grambow")
    finally:
        published.official.cache_clear()


@pytest.mark.parametrize(
    ("name", "revision", "words"),
    [
        ("nci-ihb100x10", REVISION, "has a fixed revision; leave out --revision"),
        ("folmsbee", "main", "the revision 'main' is not a full commit hash"),
        ("nci-ihb100", "", r"no published data set 'nci-ihb100' \(did you mean 'nci-ihb100x10'\?\)"),
    ],
)
def test_wrong_names_and_revisions_are_refused(name: str, revision: str, words: str, cache: Path) -> None:
    with pytest.raises(AssayError, match=words):
        fetch_official(name, revision)


def test_commands_fetch_verify_and_say_where(
    mirror: Behaviour, cache: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = str(cache / "data" / "NCIA_IHB100x10_github_package.zip")
    assert main(["data", "verify"]) == 0
    assert "no data set has been fetched" in capsys.readouterr().err
    assert main(["data", "fetch", "nci-ihb100x10", "openff"]) == 0
    assert capsys.readouterr().out.splitlines()[0] == file
    assert main(["data", "path", "nci-ihb100x10"]) == 0
    assert capsys.readouterr().out.strip() == file
    assert main(["data", "path"]) == 0
    assert capsys.readouterr().out.strip() == str(cache / "data")
    assert main(["data", "verify"]) == 0
    assert capsys.readouterr().out == "nci-ihb100x10 is intact\nopenff is intact\n"
    Path(file).write_bytes(b"spoilt")
    assert main(["data", "verify", "nci-ihb100x10"]) == 1
    assert capsys.readouterr().out == "nci-ihb100x10 does not match its sha256\n"
    assert main(["data", "fetch", "openff", "nonsense"]) == 2
    assert "there is no published data set 'nonsense'" in capsys.readouterr().err


def test_the_list_says_where_data_comes_from_and_whether_it_is_here(
    mirror: Behaviour, capsys: pytest.CaptureFixture[str]
) -> None:
    fetch_official("openff")
    assert main(["list", "data", "--json"]) == 0
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)["data"]}
    for row in rows.values():
        assert all(row[key] for key in ("kind", "lane", "size", "level", "licence", "source", "citation", "units"))
    assert rows["s22x5"]["here"] is rows["s22x5"]["default"] is rows["openff"]["here"] is True
    assert rows["nci-d442x10"]["here"] is rows["g2-geometries"]["default"] is False
    assert rows["nci-d442x10"]["bytes"] == 3494453
    assert rows["openff"]["sha256"] == hashlib.sha256(OPENFF_ZIP).hexdigest()
    assert main(["list", "data"]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert any(line[1:6] == ["not", "fetched", "dihedral_scan", "500", "records"] for line in lines)
    assert sorted(line[0] for line in lines) == sorted(rows)  # one line for each set
