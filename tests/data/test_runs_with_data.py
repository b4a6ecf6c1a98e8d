"""`--data` reaches the benchmarks; wrong data stops before the model is loaded and costs nothing that was finished."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from assay.api import run
from assay.cli.main import main
from assay.errors import AssayError
from mlipaudit_documents import CONFORMERS, write

BENCHMARK = "molecules.conformer_selection"
SOUND = "assay.sabotage:sound"


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def arguments(data: Path, output: Path) -> list[str]:
    return [
        "run",
        SOUND,
        "-b",
        BENCHMARK,
        "--data",
        str(data),
        "-o",
        str(output),
        "-j",
        "0",
        "--json",
        "--elements",
        "H",
    ]


def test_the_users_records_are_the_cases_and_what_was_left_out_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    neutral = CONFORMERS | {"charge": 0}
    data = write(tmp_path / "data", {"folmsbee_dataset.json": [neutral, {"molecule_name": "bad"}]})
    main(arguments(data, tmp_path / "results"))
    captured = capsys.readouterr()
    (model,) = json.loads(captured.out)["models"]
    (benchmark,) = model["benchmarks"]
    assert [case["id"] for case in benchmark["cases"]] == ["ado"]
    assert "record 'bad' of" in captured.err
    assert "lacks the key 'dft_energy_profile' and is left out" in captured.err


def test_wrong_data_is_said_before_the_model_is_loaded(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path, {"folmsbee_dataset.json": "{broken"})
    assert main(["run", "no.such.package:model", "--data", str(tmp_path)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "folmsbee_dataset.json' is not valid JSON" in line


def test_wrong_data_loses_no_finished_result(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = write(tmp_path / "data", {"folmsbee_dataset.json": [CONFORMERS | {"charge": 0}]})
    main(arguments(data, tmp_path / "results"))
    before = contents(tmp_path / "results")
    assert before
    write(data, {"folmsbee_dataset.json": "[]"})
    assert main(arguments(data, tmp_path / "results")) == 2
    assert contents(tmp_path / "results") == before


@pytest.mark.parametrize("data", ["nowhere", ["nowhere"], Path("nowhere")])
def test_python_takes_one_folder_or_several(data: object) -> None:
    with pytest.raises(AssayError, match="there is no folder and no data set 'nowhere'"):
        run("no.such.package:model", data=data)
