"""The command that draws figures: what it writes, what it says, and what it refuses before it computes."""

import csv
import os
import subprocess
import time
from pathlib import Path
from typing import NamedTuple

import pandas as pd
import pytest

from dynamics.table import Table
from figures import NAMES, STYLES, draw, entry_of
from figures.parameters import shown
from tests.cli.running import LINDYN, answered, process, refused, run, strict
from tests.cli.test_process import imported
from tests.figures.quick import QUICK, quick
from tests.figures.test_gallery import current
from tests.figures.test_layout import faults, lay_out

FAST = ("spectrum", "--set", "max_depth=2")
RC = """font.size: 20
axes.grid: True
lines.linewidth: 7
figure.facecolor: red
savefig.bbox: tight
pdf.fonttype: 3
"""


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def paths(folder: Path, name: str, *kinds: str) -> list[str]:
    return [str(folder / f"{name}.{kind}") for kind in (*kinds, "csv", "json")]


def test_a_figure_is_three_files_whose_names_are_told(tmp_path: Path) -> None:
    result = answered("figure", *FAST, "--output-dir", tmp_path)
    assert result.stdout.splitlines() == paths(tmp_path, "spectrum", "pdf")
    assert result.stderr == ""
    assert names(tmp_path) == ["spectrum.csv", "spectrum.json", "spectrum.pdf"]


def test_every_format_that_is_asked_for_is_written_once(tmp_path: Path) -> None:
    result = answered("figure", *FAST, "--format", "pdf,svg, png,pdf", "--output-dir", tmp_path)
    assert result.stdout.splitlines() == paths(tmp_path, "spectrum", "pdf", "svg", "png")
    for kind, start in (("pdf", b"%PDF-"), ("svg", b"<?xml"), ("png", b"\x89PNG")):
        assert (tmp_path / f"spectrum.{kind}").read_bytes().startswith(start)


def test_folders_are_made(tmp_path: Path) -> None:
    answered("figure", *FAST, "--output-dir", tmp_path / "a" / "b")
    assert len(names(tmp_path / "a" / "b")) == 3


def test_a_name_given_twice_is_drawn_once(tmp_path: Path) -> None:
    result = answered("figure", "spectrum", *FAST, "--output-dir", tmp_path)
    assert len(result.stdout.splitlines()) == 3


def test_the_table_holds_what_the_library_draws(tmp_path: Path) -> None:
    answered("figure", "crossover", "--set", "max_depth=4", "--output-dir", tmp_path)
    with open(tmp_path / "crossover.csv", newline="", encoding="utf-8") as stream:
        found = list(csv.DictReader(stream))
    expected = list(draw("crossover", max_depth=4).table.records())
    assert len(found) == len(expected) == 8
    for row, given in zip(found, expected, strict=True):
        assert list(row) == list(given)
        for name, value in given.items():
            assert row[name] == ("" if value is None or value != value else str(value))


def test_the_record_says_how_the_figure_was_made(tmp_path: Path) -> None:
    answered("figure", "depth", "--set", "max-depth=3", "--set", "rho=0.5,1", "--style", "icml", "--output-dir", tmp_path)
    record = strict((tmp_path / "depth.json").read_text(encoding="utf-8"))
    assert record["figure"] == "depth"
    assert record["title"] == entry_of("depth").title
    assert record["caption"].startswith("Critical time")
    assert record["parameters"] == {
        "rho": [0.5, 1.0],
        "predictor_depth": 1,
        "epsilon": 1e-3,
        "fraction": 0.5,
        "max_depth": 3,
    }
    assert record["features"] is None
    assert record["style"] == {"name": "icml", "width_inches": 3.25, "type_size_points": 8.6}
    assert "unit learning rate" in record["units"]
    assert {"lindyn", "matplotlib", "numpy", "scipy"} <= set(record["made_with"])


@pytest.mark.parametrize("style", STYLES)
def test_every_style_can_be_asked_for(tmp_path: Path, style: str) -> None:
    answered("figure", *FAST, "--style", style, "--format", "svg", "--output-dir", tmp_path)
    head = (tmp_path / "spectrum.svg").read_text(encoding="utf-8")[:1000]
    assert f'width="{72 * STYLES[style].width:g}pt"' in head


@pytest.mark.parametrize("as_pipe", [False, True], ids=["file", "pipe"])
def test_features_of_one_s_own_take_the_place_of_the_scenario(tmp_path: Path, as_pipe: bool) -> None:
    text = "name,lambda,rho\nfirst,1,0.5\nsecond,0.8,1.25\n"
    table = tmp_path / "features.csv"
    table.write_text(text)
    source = "-" if as_pipe else str(table)
    given = ("figure", "greedy", "--features", source, "--format", "svg", "--output-dir", tmp_path / "out")
    answered(*given, stdin=text if as_pipe else None)
    with open(tmp_path / "out" / "greedy.csv", newline="", encoding="utf-8") as stream:
        found = {(row["feature"], row["lambda"], row["rho"]) for row in csv.DictReader(stream)}
    assert found == {("first", "1.0", "0.5"), ("second", "0.8", "1.25")}
    assert strict((tmp_path / "out" / "greedy.json").read_text(encoding="utf-8"))["features"] == source


def test_a_parameter_concerns_the_figures_that_have_it(tmp_path: Path) -> None:
    given = ("spectrum", "crossover", "--set", "max_depth=2", "--set", "max_predictor_depth=1", "--workers", "1")
    answered("figure", *given, "--format", "svg", "--output-dir", tmp_path)
    records = {name: strict((tmp_path / f"{name}.json").read_text())["parameters"] for name in ("spectrum", "crossover")}
    assert records["spectrum"]["max_depth"] == records["crossover"]["max_depth"] == 2
    assert records["spectrum"]["max_predictor_depth"] == 1
    assert "max_predictor_depth" not in records["crossover"]


def test_the_list_names_every_figure_and_its_parameters() -> None:
    result = answered("figure", "--list")
    text = " ".join(result.stdout.split())
    for name in NAMES:
        assert name in text
        for parameter in entry_of(name).parameters:
            assert f"{parameter}=" in text
        first = " ".join(entry_of(name).title.split()[:3])
        assert first in text
    assert result.stderr == ""


@pytest.mark.parametrize("name", NAMES)
def test_the_list_of_a_name_is_its_description(name: str) -> None:
    text = answered("figure", "--list", name).stdout
    assert text.startswith(f"{name}: {entry_of(name).description}\n\nDefaults: {shown(entry_of(name).parameters)}\n")
    layered = any("depth" in parameter for parameter in entry_of(name).parameters)
    assert all((word in text) == layered for word in ("depth and predictor_depth are", "product at the start, and fraction"))


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (("digit",), "There is no figure digit; the nearest is digits."),
        (("depth", "tempor"), "There is no figure tempor; there are temporal, steps."),
        (("--list", "digit"), "There is no figure digit; the nearest is digits."),
        (("depth", "--format", "pdf,jpeg"), "There is no format jpeg; there are pdf, svg, png."),
        (("depth", "--format", ""), "There is no format (empty); there are pdf, svg, png."),
        (("depth", "--format", "pdf,"), "There is no format (empty); there are pdf, svg, png."),
        (("depth", "--style", "nips"), "--style is nips; it must be one of neurips, icml, icml-wide, iclr, talk."),
        (("depth", "--set", "epsilom=1"), "The figure depth has no parameter epsilom; the nearest is epsilon."),
        (("--all", "--set", "varianc=1"), "None of these figures has the parameter varianc; the nearest is variance."),
        (("depth", "--set", "epsilon"), "epsilon sets nothing; write name=value, such as depth=4."),
        (("depth", "--set", "epsilon=tiny"), "epsilon is 'tiny'; it must be a number."),
        (("depth", "--set", "max_depth=2.5"), "max_depth is '2.5'; it must be a whole number."),
        ((), "Name a figure, or add --all; --list says what there is."),
        (("--all", "depth"), "Give either names or --all, not both."),
    ],
    ids=lambda value: "-".join(value) or "nothing" if isinstance(value, tuple) else "",
)
def test_wrong_use_is_one_sentence(tmp_path: Path, given: tuple[str, ...], told: str) -> None:
    assert refused("figure", *given, "--output-dir", tmp_path / "out") == told
    assert names(tmp_path) == []


@pytest.mark.parametrize(
    ("name", "setting", "told"),
    [
        ("depth", "epsilon=-1", "epsilon is -1.0; it must be a positive finite number."),
        ("depth", "epsilon=nan", "epsilon is nan; it must be a positive finite number."),
        ("depth", "fraction=2", "fraction is 2.0; it must be strictly between 0 and 1."),
        ("greedy", "depth=0", "depth is 0; it must be "),
        ("map", "depth=0", "depth is 0; it must be "),
        ("network", "start=zero", "start is zero; it must be "),
        ("masking", "keep=1.5", "keep is 1.5; it must be "),
        ("masking", "target=half", "target is half; it must be "),
        ("masking", "count=3", "count is 3; it must be "),
        ("temporal", "lag=0", "lag is 0; it must be "),
        ("digits", "count=0", "count is 0; it must be "),
        ("steps", "learning_rate=0", "learning_rate is 0.0; it must be "),
    ],
    ids=lambda value: value if isinstance(value, str) and " " not in value else "",
)
def test_what_the_theory_refuses_is_one_sentence_that_names_the_parameter(
    tmp_path: Path, name: str, setting: str, told: str
) -> None:
    assert refused("figure", name, "--set", setting, "--output-dir", tmp_path).startswith(told)
    assert names(tmp_path) == []


@pytest.mark.parametrize("workers", ["1", "2"])
def test_what_one_figure_refuses_does_not_keep_the_others_from_being_drawn(tmp_path: Path, workers: str) -> None:
    given = ("crossover", "spectrum", "--set", "fraction=2", "--format", "svg", "--workers", workers)
    result = run("figure", *given, "--output-dir", tmp_path)
    assert result.exit_code == 1
    assert result.stdout.splitlines() == paths(tmp_path, "spectrum", "svg")
    assert result.stderr.splitlines() == ["crossover: fraction is 2.0; it must be strictly between 0 and 1."]


def test_features_are_refused_where_they_are_not_drawn_or_not_there(tmp_path: Path) -> None:
    told = refused("figure", "depth", "--features", tmp_path / "features.csv", "--output-dir", tmp_path)
    assert told.startswith("The figure depth takes no features; those that do are greedy, map, crossover")
    told = refused("figure", "greedy", "--features", tmp_path / "features.csv", "--output-dir", tmp_path)
    assert "features.csv" in told
    (tmp_path / "features.csv").write_text("name,weight\na,1\n")
    assert refused("figure", "greedy", "--features", tmp_path / "features.csv", "--output-dir", tmp_path)
    assert names(tmp_path) == ["features.csv"]


@pytest.mark.parametrize("name", ["greedy", "crossover", "network", "steps"])
def test_features_that_are_never_learned_are_refused(tmp_path: Path, name: str) -> None:
    stdin = "lambda,sigma\n-1,1\n-0.5,1\n"
    assert refused("figure", name, "--features", "-", "--output-dir", tmp_path, stdin=stdin)
    assert names(tmp_path) == []


def never(*_: object, **__: object) -> None:
    raise AssertionError("computed before it was known where files go")


def test_a_file_in_the_place_of_the_folder_is_refused_before_anything_is_computed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("figures.saving.Order.files", never)
    (tmp_path / "out").write_text("old")
    assert "out cannot be made: " in refused("figure", "depth", "--output-dir", tmp_path / "out")
    assert "cannot be made: " in refused("figure", "depth", "--output-dir", tmp_path / "out" / "below")
    assert (tmp_path / "out").read_text() == "old"


def test_a_folder_closed_to_writing_is_refused_before_anything_is_computed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("figures.saving.Order.files", never)
    monkeypatch.setattr(os, "access", lambda path, mode: not str(path).startswith(str(tmp_path)))
    assert "permission denied" in refused("figure", "depth", "--output-dir", tmp_path)


def test_a_picture_that_fails_leaves_the_old_files_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = {f"spectrum.{kind}": f"old {kind}" for kind in ("pdf", "csv", "json")}
    for name, text in old.items():
        (tmp_path / name).write_text(text)

    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("the picture fails")

    monkeypatch.setattr("matplotlib.figure.Figure.savefig", fail)
    with pytest.raises(AssertionError, match="the picture fails"):
        run("figure", *FAST, "--output-dir", tmp_path)
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == old


def test_a_disk_that_is_full_leaves_the_old_file_and_nothing_beside_it(tmp_path: Path) -> None:
    resource = pytest.importorskip("resource")
    (tmp_path / "spectrum.pdf").write_text("old")
    done = subprocess.run(
        [LINDYN, "figure", "spectrum", "--output-dir", tmp_path],
        capture_output=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (5_000, 5_000)),
        check=False,
        timeout=30,
        env={**os.environ, "MPLCONFIGDIR": str(Path.home() / ".cache" / "matplotlib")},
    )
    assert done.returncode in {1, 2}
    assert b"spectrum.pdf cannot be written" in done.stderr
    assert b"Traceback" not in done.stderr
    assert (tmp_path / "spectrum.pdf").read_text() == "old"
    assert names(tmp_path) == ["spectrum.pdf"]


def test_old_files_are_replaced(tmp_path: Path) -> None:
    for kind in ("pdf", "csv", "json"):
        (tmp_path / f"spectrum.{kind}").write_text("old" * 100_000)
    answered("figure", *FAST, "--output-dir", tmp_path)
    assert all("old" * 100 not in path.read_text(errors="replace") for path in tmp_path.iterdir())
    assert len(names(tmp_path)) == 3


def test_help_and_lists_do_not_import_what_draws_or_computes_much() -> None:
    assert not imported("import cli") & {"matplotlib", "figures", "numpy"}
    assert not imported("from cli import main\nmain(['figure', '--help'], standalone_mode=False)") & {"matplotlib", "numpy"}
    assert "matplotlib" not in imported("from cli import main\nmain(['figure', '--list'], standalone_mode=False)")
    assert "matplotlib" not in imported("import figures")


def test_a_process_in_an_empty_folder_writes_there_without_a_remark(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONWARNINGS": "error"}
    given = [LINDYN, "figure", *FAST, "--format", "pdf,svg,png"]
    done = subprocess.run(given, cwd=tmp_path, capture_output=True, env=environment, check=False, timeout=30)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.decode().split() == [f"spectrum.{kind}" for kind in ("pdf", "svg", "png", "csv", "json")]
    assert names(tmp_path) == sorted(done.stdout.decode().split())


def test_processes_of_two_users_write_the_same_bytes(tmp_path: Path) -> None:
    (tmp_path / "matplotlibrc").write_text(RC)
    told = [{"PYTHONHASHSEED": "1", "TZ": "UTC"}, {"PYTHONHASHSEED": "2", "TZ": "Asia/Kathmandu", "LC_ALL": "C.utf8"}]
    told[1]["MATPLOTLIBRC"] = str(tmp_path / "matplotlibrc")
    for user, environment in enumerate(told):
        folder = tmp_path / str(user)
        done = process("figure", "crossover", "--format", "pdf,svg,png", "--output-dir", folder, **environment)
        assert (done.returncode, done.stderr) == (0, b"")
    one, other = ({path.name: path.read_bytes() for path in (tmp_path / user).iterdir()} for user in "01")
    assert len(one) == 5
    assert one == other


def test_a_terminal_is_shown_the_progress_and_a_pipe_is_not(tmp_path: Path) -> None:
    pty = pytest.importorskip("pty")
    screen, behind = pty.openpty()
    done = subprocess.run(
        [LINDYN, "figure", *FAST, "--output-dir", tmp_path],
        stdout=subprocess.PIPE,
        stderr=behind,
        env={**os.environ, "COLUMNS": "80", "TERM": "xterm"},
        check=False,
        timeout=30,
    )
    os.close(behind)
    seen = os.read(screen, 65536).decode()
    os.close(screen)
    assert done.returncode == 0
    assert "Drawing" in seen
    assert done.stdout.decode().splitlines() == paths(tmp_path, "spectrum", "pdf")


@pytest.mark.parametrize("name", ["spectrum", "greedy"])
def test_without_latex_its_option_is_refused_in_a_sentence(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether text is measured while the figure is drawn, or set when it is saved."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("MPLCONFIGDIR", str(tmp_path / "fresh"))
    assert refused("figure", name, "--latex", "--output-dir", tmp_path).startswith("LaTeX is not installed")


class Everything(NamedTuple):
    """The files of all figures, and how long they took, in seconds."""

    folder: Path
    total: float
    longest: float


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> Everything:
    folder, begun = tmp_path_factory.mktemp("everything"), time.time()
    done = process("figure", "--all", "--format", "pdf,svg,png", "--workers", "2", "--output-dir", folder, timeout=240.0)
    assert (done.returncode, done.stderr) == (0, b"")
    ended = sorted((folder / f"{name}.json").stat().st_mtime - begun for name in NAMES)
    began = [0.0, 0.0, *ended[:-2]]  # two at a time, each as soon as one of those before it has ended
    return Everything(folder, time.time() - begun, max(end - start for start, end in zip(began, ended, strict=True)))


@pytest.mark.slow
@pytest.mark.timed
def test_all_figures_are_made_in_time(everything: Everything) -> None:
    assert everything.total < 240.0
    assert everything.longest < 40.0


@pytest.mark.slow
@pytest.mark.timed
def test_all_figures_have_all_files_and_none_is_large(everything: Everything) -> None:
    kinds = ("pdf", "svg", "png", "csv", "json")
    assert names(everything.folder) == sorted(f"{name}.{kind}" for name in NAMES for kind in kinds)
    for path in everything.folder.iterdir():
        assert path.stat().st_size < 2_000_000, path.name
    for name in NAMES:
        assert b"/Subtype /Type3" not in (everything.folder / f"{name}.pdf").read_bytes()
        assert strict((everything.folder / f"{name}.json").read_text(encoding="utf-8"))["figure"] == name


def written(folder: Path, name: str) -> Table:
    """The data of a figure as its file tells them."""
    frame = pd.read_csv(folder / f"{name}.csv", low_memory=False, dtype={"feature": str})
    return Table({column: frame[column].to_numpy() for column in frame})


@pytest.mark.slow
@pytest.mark.timed
@pytest.mark.parametrize("name", [name for name in NAMES if QUICK[name]])
def test_figures_that_take_long_can_be_read_in_every_style(everything: Everything, name: str) -> None:
    """Drawn from their files alone, by their defaults; the others are laid out by theirs in the tests of layout."""
    table = written(everything.folder, name)
    for style in STYLES:
        assert faults(lay_out(quick(name, style, table=table), style)) == [], style


@pytest.mark.slow
@pytest.mark.timed
@pytest.mark.parametrize("name", NAMES)
def test_the_gallery_shows_every_figure_as_it_is_today(everything: Everything, name: str) -> None:
    record = strict((everything.folder / f"{name}.json").read_text(encoding="utf-8"))
    assert current(name, record["caption"], quick(name, table=written(everything.folder, name)))
