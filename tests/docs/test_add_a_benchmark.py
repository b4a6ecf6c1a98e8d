"""The examples of docs/add-a-benchmark.md run as they stand on the page, and catch what they should catch."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from assay.api import run
from assay.cli.main import main
from assay.results import BenchmarkResult

PAGE = Path(__file__).parents[2] / "docs" / "add-a-benchmark.md"
EXAMPLES = ("lone_atoms.py:LoneAtoms", "inversions.py:InversionBarriers", "water_angle.py:WaterAngle")


def files() -> dict[str, str]:
    """The files on the page by name."""
    return dict(re.findall(r"```\w+ title=\"([^\"]+)\"\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with all files of the page, as a reader would write them."""
    for name, text in files().items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("assay.benchmarks.registry._from_files", {})
    return tmp_path


def result(model: str, example: str, **settings: object) -> BenchmarkResult:
    """What one example says about a model."""
    (found,) = run(model, benchmarks=[example], workers=0, **settings).result.benchmarks  # type: ignore[arg-type]
    return found


def test_the_page_has_three_examples_of_less_than_sixty_lines() -> None:
    code = {name: text for name, text in files().items() if name.endswith(".py")}
    assert set(code) == {example.partition(":")[0] for example in EXAMPLES}
    assert all(len(text.splitlines()) < 60 for text in code.values())


def test_every_command_of_the_page_names_an_example() -> None:
    named = re.findall(r"-b (\S+\.py:\w+)", PAGE.read_text(encoding="utf-8"))
    assert set(named) == set(EXAMPLES)


def test_the_check_passes_a_sound_model_and_catches_an_external_field(folder: Path) -> None:
    sound = result("emt", EXAMPLES[0])
    assert sound.name == "lone_atoms.lone_atoms"
    assert sound.verdict is not None
    assert (sound.verdict.passed, sound.verdict.evaluated) == (True, 7)
    broken = result("assay.sabotage:external_field", EXAMPLES[0])
    assert broken.verdict is not None
    assert broken.verdict.passed is False


def test_the_benchmark_on_data_compares_barriers(folder: Path) -> None:
    found = result("gfn2-xtb", EXAMPLES[1], data=("inversions",))
    (ammonia,) = found.observations
    assert ammonia.status == "ok", ammonia.reason
    barrier = ammonia.detail["predicted"]
    assert 2.0 < barrier < 12.0
    assert ammonia.values["barrier_error"] == pytest.approx(abs(barrier - 5.77))
    assert found.null_score is not None
    assert found.null_score < 0.01
    assert found.data[0]["name"] == "inversions"


def test_the_observable_of_a_simulation_has_a_standard_error(folder: Path) -> None:
    found = result("gfn2-xtb", EXAMPLES[2])
    (water,) = found.observations
    assert water.status == "ok", water.reason
    assert water.values["angle_mean"] == pytest.approx(104.5, abs=5.0)
    (metric,) = found.metrics
    assert metric.stderr == pytest.approx(water.stderr["angle_mean"])
    assert len(water.detail["time"]) == len(water.detail["angle"])
    copper = result("emt", EXAMPLES[2])
    assert [o.status for o in copper.observations] == ["unsupported"]


def test_the_command_line_runs_and_scores_a_benchmark_from_a_path(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", "emt", "-b", EXAMPLES[0], "-j", "0", "--json"]) == 0
    (first,) = json.loads(capsys.readouterr().out)["models"][0]["benchmarks"]
    assert main(["score", "results", "-b", EXAMPLES[0], "--json"]) == 0
    (again,) = json.loads(capsys.readouterr().out)["models"][0]["benchmarks"]
    assert (first["name"], first["score"]) == ("lone_atoms.lone_atoms", 1.0)
    assert again == first


def test_without_its_file_the_results_of_a_benchmark_are_left_out_with_a_warning(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["run", "emt", "-b", EXAMPLES[0], "-j", "0", "--json"]) == 0
    monkeypatch.setattr("assay.benchmarks.registry._from_files", {})
    capsys.readouterr()
    assert main(["score", "results", "--json"]) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out)["models"][0]["benchmarks"] == []
    assert "'lone_atoms.lone_atoms' are left out" in printed.err
    assert "give its file with -b" in printed.err


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("lone_atoms.py:LoneAtom", "has no class 'LoneAtom' in its file .did you mean 'LoneAtoms'"),
        ("lone_atoms.py:Structure", "the class must be a Benchmark"),
        ("nowhere.py:LoneAtoms", "there is no file"),
    ],
)
def test_a_wrong_path_is_one_sentence(
    folder: Path, capsys: pytest.CaptureFixture[str], pattern: str, message: str
) -> None:
    assert main(["run", "emt", "-b", pattern, "-j", "0"]) == 2
    assert re.search(message, capsys.readouterr().err)
