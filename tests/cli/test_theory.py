"""lindyn derive and lindyn verify, as people run them."""

import json
from pathlib import Path

import pytest

from derivations.statement import STATEMENTS, Mutant
from tests.cli.running import answered, process, refused, run

JEPA = "sigma**2*(v*u**L)**2/2 - lam*v*u**L*sg(u**L)"


@pytest.mark.parametrize("objective", ["jepa", "mae", "supervised"])
def test_a_derivation_is_numbered_text(objective: str) -> None:
    text = answered("derive", objective, "--depth", 2).stdout
    assert "1. Loss." in text
    assert "11. Elasticities." in text


def test_the_promised_loss_runs_as_it_stands() -> None:
    own = answered("derive", "--loss", JEPA, "--depth", 2).stdout.split("\n", 1)[1]
    assert own == answered("derive", "jepa", "--depth", 2, "--predictor-depth", 1).stdout.split("\n", 1)[1]


def test_numbers_follow_the_derivation() -> None:
    text = answered("derive", "jepa", "--depth", 2, "--lambda", 1, "--rho", "0.5,0.6").stdout
    assert text.count("critical time 4") == 2
    content = json.loads(answered("derive", "jepa", "--depth", 2, "--lambda", 1, "--rho", 0.5, "--format", "json").stdout)
    exact = answered("critical-time", "--lambda", 1, "--rho", 0.5, "--objective", "jepa", "--format", "json").stdout
    assert float(content["numbers"][0]["critical_time"]) == pytest.approx(json.loads(exact)[0]["critical_time"], rel=1e-13)


@pytest.mark.parametrize(("ending", "begins"), [("tex", r"\documentclass"), ("json", "{"), ("txt", "MAE")])
def test_the_ending_of_the_output_names_the_format(ending: str, begins: str, tmp_path: Path) -> None:
    place = tmp_path / f"mae.{ending}"
    result = answered("derive", "mae", "--output", place)
    assert result.stdout == ""
    assert result.stderr == f"{place} written.\n"
    assert place.read_text().startswith(begins)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("jep",), "There is no objective jep; the nearest is jepa."),
        ((), "Give either an OBJECTIVE (jepa, mae, supervised) or --loss EXPRESSION."),
        (("jepa", "--loss", "u*v"), "Give either an OBJECTIVE (jepa, mae, supervised) or --loss EXPRESSION."),
        (("jepa", "--depth", "0"), "--depth is 0; it must be a whole number from 1 to 1000."),
        (("jepa", "--depth", "-3"), "--depth is -3; it must be a whole number from 1 to 1000."),
        (("jepa", "--depth", "two"), "Invalid value for '--depth': 'two' is not a valid integer."),
        (("jepa", "--predictor-depth", "0"), "--predictor-depth is 0; it must be a whole number from 1 to 1000."),
        (("jepa", "--lambda", "1"), "--lambda and --rho go together."),
        (("jepa", "--lambda", "1", "--rho", "1"), "Numbers need a --depth."),
        (("jepa", "--depth", "2", "--lambda", "-1", "--rho", "1"), "--lambda is -1.0; it must be a positive decimal number."),
        (("jepa", "--epsilon", "0.1"), "--epsilon is not used by derive without --lambda and --rho; leave it out."),
        (("--loss", "u + x"), "The loss has the name 'x' at column 5; it may use u, v, L, M, lam, sigma, rho and sg(...)."),
        (
            ("--loss", "__import__('os').system('true')*u"),
            "The loss calls '__import__' at column 1; it may call nothing but sg(...).",
        ),
        (("--loss", "v*u**L"), "The loss has no positive fixed point: the one term of du/dt = -u^L is negative for u > 0."),
        (("jepa", "--output", "x.pdf"), "The ending of --output x.pdf names no format; add --format text, latex, json."),
    ],
)
def test_wrong_use_of_derive_is_one_sentence(arguments: tuple[str, ...], sentence: str) -> None:
    assert refused("derive", *arguments) == sentence


@pytest.mark.parametrize(
    "loss", ["u" * 1_000_000, "u**" + "9" * 10_000, "u+" * 500_000 + "u", "(" * 10_000 + "u" + ")" * 10_000, "9**9**9**9*u"]
)
def test_a_huge_loss_is_refused_at_once(loss: str) -> None:
    if len(loss) > 100_000:  # longer than the operating system lets an argument be
        assert refused("derive", "--loss", loss).startswith("The loss has ")
        return
    result = process("derive", "--loss", loss, timeout=10)
    assert result.returncode == 2
    assert len(result.stderr.splitlines()) == 1
    assert len(result.stderr) < 300


def test_named_statements_are_proved_and_tabled() -> None:
    result = answered("verify", "jepa-mode", "diagonal-stays-diagonal", "--mutants")
    assert "Under JEPA du/dt = λ u^(2 L + M - 1) (1 - u^M/ρ)." in result.stdout
    assert "4 of 4 rejected" in result.stdout
    assert "exact for L =" in result.stdout
    assert result.stderr == "2 of 2 statements proved. 8 of 8 mutants rejected.\n"


def test_the_list_is_shown_without_proving() -> None:
    result = answered("verify", "--list", "--format", "json")
    assert [entry["statement"] for entry in json.loads(result.stdout)] == list(STATEMENTS)
    assert result.stderr == ""


@pytest.mark.parametrize("ending", ["md", "tex", "json"])
def test_a_certificate_is_written(ending: str, tmp_path: Path) -> None:
    place = tmp_path / f"report.{ending}"
    answered("verify", "jepa-mode", "--output", place)
    assert "jepa-mode" in place.read_text()
    assert "sympy" in place.read_text()


def test_a_statement_that_fails_ends_with_exit_code_1(monkeypatch: pytest.MonkeyPatch) -> None:
    given = STATEMENTS["jepa-mode"]
    monkeypatch.setitem(
        STATEMENTS, "jepa-mode", type(given)(**{**vars(given), "prove": lambda: given.prove(given.formulas["rate"] * 2)})
    )
    result = run("verify", "jepa-mode")
    assert result.exit_code == 1
    assert "NOT PROVED" in result.stdout
    assert "jepa-mode: not proved. There one layer moves as claimed" in result.stderr


def test_a_surviving_mutant_ends_with_exit_code_1() -> None:
    given = STATEMENTS["elasticity-lambda"]
    given.mutants.append(Mutant("the truth", dict(given.formulas)))
    try:
        result = run("verify", "elasticity-lambda", "--mutants", "--workers", 1)
    finally:
        given.mutants.pop()
    assert result.exit_code == 1
    assert "elasticity-lambda: the mutant 'the truth' survives." in result.stderr


def test_an_unknown_statement_is_refused_with_the_nearest() -> None:
    assert "the nearest are jepa-mode" in refused("verify", "jepa-mod")
    assert refused("verify", "--list", "--mutants") == "--mutants is not used by --list; leave it out."
