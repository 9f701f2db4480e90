"""Certificates: what was proved, with which software, for people and programs."""

import json
import re
from importlib.metadata import version

import pytest

from derivations.report import as_json, as_latex, as_markdown, failures, listed, summary, written
from derivations.statement import STATEMENTS, Mutant, Statement
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

    def draw(headings: object, rows: object) -> str:
        drawn.append((headings, rows))
        return "table"

    renderings = listed(chosen, draw)
    assert renderings["table"]() == "table"
    assert [entry["statement"] for entry in json.loads(renderings["json"]())] == [given.name for given in chosen]
    assert "Under JEPA" in renderings["markdown"]()
    assert r"\item[jepa-mode]" in renderings["latex"]()


def test_each_format_of_results_is_made_when_asked(results: list[Result], chosen: list[Statement]) -> None:
    renderings = written(results, chosen, lambda headings, rows: f"{len(headings)} {len(rows)}")
    assert renderings["table"]() == "6 3"
    assert set(renderings) == {"table", "markdown", "latex", "json"}
