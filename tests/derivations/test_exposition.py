"""A derivation on a terminal, in LaTeX and in JSON; formulas in each."""

import json
import re

import pytest
from sympy import Derivative, Eq, Lambda, Rational, RootSum, Symbol, log

from derivations.derivation import derive, derive_loss
from derivations.exposition import as_json, as_latex, as_text
from derivations.formulas import Series, drawn, inline, tex
from derivations.integrals import Duration, Tail
from derivations.latex import displayed
from derivations.notation import L, a, b, epsilon, lam, p, rho, t, u, ustar, v, x, x0, x1
from derivations.numbers import answers, settings


@pytest.mark.parametrize(
    ("expression", "shown"),
    [
        (v**2 - u**2, "v^2 - u^2"),
        (1 - u**L / rho, "1 - u^L/ρ"),
        (lam * u ** (2 * L - 1), "λ u^(2 L - 1)"),
        (log(epsilon), "ln(ε)"),
        (Rational(938, 1000), "0.938"),
        (Rational(1, 3), "1/3"),
        (ustar ** (1 - a), "u*^(1 - a)"),
        (Tail(a, b, x), "Φ[a, b](x)"),
        (Duration(a, b, x0, x1), "T[a, b](x₀, x₁)"),
        (Eq(Derivative(u, t), lam * u), "du/dt = λ u"),
        (Series(1 / epsilon, -p, rho), "1/ε - p + ρ"),
        (-u - v, "-u - v"),
    ],
)
def test_a_formula_in_one_line(expression: object, shown: str) -> None:
    assert inline(expression) == shown


def test_a_long_sum_goes_on_below_its_first_terms_with_its_signs() -> None:
    equation = Eq(t, Series(*((-1) ** n / epsilon**n for n in range(1, 12))), evaluate=False)
    text = drawn(equation, 40)
    assert max(map(len, text.splitlines())) <= 40
    assert text.count("ε") == 11
    assert len(re.findall(r"(?<=\S) - |^ +- ", text, re.MULTILINE)) + len(re.findall(r" \+ ", text)) >= 10
    assert displayed(equation).startswith(r"\begin{align*}")


def test_a_sum_over_roots_names_its_polynomial() -> None:
    r = Symbol("r")
    roots = RootSum(r**3 - r + 1, Lambda(r, r * log(x - r)), auto=False)
    assert "r^3 - r + 1 = 0" in inline(roots)
    assert r"\sum_{r:" in tex(roots)


def test_terminal_text_numbers_every_line_and_keeps_to_the_width() -> None:
    derivation = derive("jepa", 3, 1)
    text = as_text(derivation, width=80)
    assert max(map(len, text.splitlines())) <= 80
    assert text.startswith("JEPA, L = 3, M = 1\n")
    assert re.findall(r"^(\d+)\. ", text, re.MULTILINE) == [str(n) for n in range(1, len(derivation.lines) + 1)]
    assert "checked: " in text


@pytest.mark.parametrize("depth", [None, 2, 10])
def test_latex_is_a_document_of_its_own(depth: int | None) -> None:
    text = as_latex(derive("jepa", depth, 1))
    assert text.isascii()
    for environment in set(re.findall(r"\\begin\{(\w+\*?)\}", text)):
        assert text.count(rf"\begin{{{environment}}}") == text.count(rf"\end{{{environment}}}")
    assert text.count(r"\item") == len(derive("jepa", depth, 1).lines)


def test_json_tells_the_family_the_formulas_and_the_numbers() -> None:
    derivation = derive("mae", 2, 1)
    content = json.loads(as_json(derivation, answers(derivation, settings([1.0], [0.5], [0.01], [0.5]))))
    assert content["family"] == {"a": "2", "b": "3", "growth": "λ", "capacity": "ρ"}
    assert content["lines"][3]["formulas"][0]["text"] == "du/dt = λ u^2 (1 - u^3/ρ)"
    assert content["numbers"][0]["status"] == "reached"
    assert re.fullmatch(r"\d+\.\d+", content["numbers"][0]["critical_time"])


def test_json_of_another_loss_has_no_family() -> None:
    loss = "sigma**2*(v*u**L)**2/2 - lam*v*u**L*sg(u**L) + L*u**2/200 + v**2/200"
    derivation = derive_loss(loss, 2, 1)
    content = json.loads(as_json(derivation, answers(derivation, settings([1.0], [0.5], [0.0001], [0.5]))))
    assert content["family"] is None
    assert content["numbers"][0]["critical_time"] == "inf"
    assert content["numbers"][0]["status"] == "never"
    assert "must start above" in content["numbers"][0]["message"]
