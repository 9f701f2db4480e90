"""Certificates: what was proved, with which software, for people and programs."""

import json
import re
import shutil
import subprocess
from importlib.metadata import version
from pathlib import Path

import pytest

from derivations.report import (
    CONVENTIONS,
    as_json,
    as_latex,
    as_markdown,
    failures,
    listed,
    summary,
    written,
)
from derivations.statement import STATEMENTS, Mutant, Statement, Verdict
from derivations.verification import Result, selected, verify


@pytest.fixture(scope="module")
def chosen() -> list[Statement]:
    return selected(["jepa-mode", "mae-expansion", "diagonal-stays-diagonal"])


@pytest.fixture(scope="module")
def results(chosen: list[Statement]) -> list[Result]:
    return verify(chosen, mutants=True, workers=1)


@pytest.fixture(scope="module")
def failed() -> list[Result]:
    """A false statement, and a mutant that survives."""
    guarded = STATEMENTS["jepa-mode"]
    verdict = guarded.examine(guarded.mutants[0])
    return [Result(verdict, (guarded.examine(Mutant("the truth", {"rate": guarded.formulas["rate"]})),))]


def test_the_certificate_names_the_software(results: list[Result], chosen: list[Statement]) -> None:
    text = as_markdown(results, chosen)
    for name in ("lindyn", "sympy", "python-flint"):
        assert f"- {name} {version(name)}" in text


def test_markdown_holds_every_claim_step_and_mutant(results: list[Result], chosen: list[Statement]) -> None:
    text = as_markdown(results, chosen)
    for given in chosen:
        assert f"## {given.name}" in text
        for mutant in given.mutants:
            assert f"- Mutant '{mutant.name}': rejected." in text
    assert text.count("(exact") >= 2
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    assert len(rows) == 1 + len(chosen)
    assert len({line.replace(r"\|", "").count("|") for line in rows}) == 1


def test_latex_is_balanced_and_escaped(results: list[Result], chosen: list[Statement]) -> None:
    text = as_latex(results, chosen)
    assert text.startswith(r"\documentclass")
    assert text.rstrip().endswith(r"\end{document}")
    for environment in set(re.findall(r"\\begin\{(\w+\*?)\}", text)):
        assert text.count(rf"\begin{{{environment}}}") == text.count(rf"\end{{{environment}}}")
    assert text.isascii()


def test_json_can_be_read_back(results: list[Result], chosen: list[Statement]) -> None:
    content = json.loads(as_json(results, chosen))
    assert content["proved"] is True
    assert [entry["statement"] for entry in content["statements"]] == [given.name for given in chosen]
    assert all(mutant["rejected"] and mutant["refuted"] for entry in content["statements"] for mutant in entry["mutants"])
    assert all(step["holds"] for entry in content["statements"] for step in entry["steps"])


def test_failures_and_survivors_are_named(failed: list[Result]) -> None:
    lines = failures(failed)
    assert lines[0].startswith("jepa-mode: not proved. There one layer moves as claimed")
    assert lines[1] == "jepa-mode: the mutant 'the truth' survives."
    assert summary(failed) == "0 of 1 statements proved. 0 of 1 mutants rejected."
    content = as_markdown(failed, [STATEMENTS["jepa-mode"]])
    assert "NOT PROVED" in content
    assert "**survives**" in content
    assert "Not proved: " in as_latex(failed, [STATEMENTS["jepa-mode"]])
    assert json.loads(as_json(failed, [STATEMENTS["jepa-mode"]]))["proved"] is False


def test_a_list_can_be_read_without_proving(chosen: list[Statement]) -> None:
    drawn: list[object] = []

    def draw(headings: object, rows: object, caption: str) -> str:
        drawn.append((headings, rows))
        assert caption == CONVENTIONS
        return "table"

    renderings = listed(chosen, draw)
    assert renderings["table"]() == "table"
    assert [entry["statement"] for entry in json.loads(renderings["json"]())["statements"]] == [given.name for given in chosen]
    assert "Under JEPA" in renderings["markdown"]()
    assert r"\item[jepa-mode]" in renderings["latex"]()


def test_each_format_of_results_is_made_when_asked(results: list[Result], chosen: list[Statement]) -> None:
    renderings = written(results, chosen, lambda headings, rows, caption: f"{len(headings)} {len(rows)}")
    assert renderings["table"]() == "6 3"
    assert set(renderings) == {"table", "markdown", "latex", "json"}


def test_every_certificate_tells_its_conventions(results: list[Result], chosen: list[Statement]) -> None:
    assert CONVENTIONS in as_markdown(results, chosen)
    assert CONVENTIONS in as_latex(results, chosen)
    assert json.loads(as_json(results, chosen))["conventions"] == CONVENTIONS
    unproved = listed(chosen, lambda headings, rows, caption: caption)
    assert all(CONVENTIONS in unproved[name]() for name in ("table", "markdown", "latex"))


def test_every_method_of_a_step_is_explained_and_named(results: list[Result], chosen: list[Statement]) -> None:
    text = as_markdown(results, chosen)
    about = text.split("| statement")[0]
    assert all(f" {method}" in about for method in ("exact", "limit", "certified", "ball quadrature"))
    latex = as_latex(results, chosen)
    for result in results:
        for step in result.verdict.steps:
            assert f"({step.method}" in latex


def test_a_mutant_that_could_not_be_examined_is_told(results: list[Result]) -> None:
    broken = [Result(results[0].verdict, (Verdict("jepa-mode", "", "odd", (), (), 0.0, "The check broke.", True),))]
    assert failures(broken) == ["jepa-mode: the mutant 'odd' is not examined. The check broke."]
    assert summary(broken).endswith("0 of 1 mutants rejected.")
    assert "**not examined**" in as_markdown(broken, [STATEMENTS["jepa-mode"]])
    assert json.loads(as_json(broken, [STATEMENTS["jepa-mode"]]))["statements"][0]["mutants"][0]["rejected"] is False


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="needs pdflatex")
def test_the_certificate_of_all_statements_compiles_and_fits_the_page(tmp_path: Path) -> None:
    everything = selected()
    (tmp_path / "report.tex").write_text(as_latex(verify(everything, mutants=True), everything))
    done = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "report.tex"], cwd=tmp_path, capture_output=True, check=False, timeout=120
    )
    log = done.stdout.decode(errors="replace")
    assert done.returncode == 0, log[-2000:]
    assert not re.findall(r"^!.*", log, re.MULTILINE)
    assert all(float(width) < 20 for width in re.findall(r"Overfull \\hbox \(([\d.]+)pt", log))
