"""Sentences and formulas in LaTeX."""

import pytest

from derivations.latex import fitted, pieces, typeset


@pytest.mark.parametrize(
    ("plain", "latex"),
    [
        ("one predictor layer", "one predictor layer"),
        ("rho_A and rho_B differ", r"$\rho_{A}$ and $\rho_{B}$ differ"),
        ("0 < z0, z1 <= 1", r"0 $<$ $z_{0}$, $z_{1}$ $\le$ 1"),
        ("u*^2 = rho, p w*", r"$u_{*}^{2}$ = $\rho$, p $w_{*}$"),
        ("S_xx and T_(a,b), sigma_y^2", r"$S_{xx}$ and $T_{a,b}$, $\sigma_{y}^{2}$"),
        ("50 % & lambdas", r"50 \% \& lambdas"),
    ],
)
def test_a_hypothesis_is_set_as_mathematics(plain: str, latex: str) -> None:
    assert typeset(plain) == latex


@pytest.mark.parametrize(
    ("formula", "broken"),
    [
        ("u", ["u"]),
        ("- x + y = z", ["- x ", "{} + y ", "{} = z"]),
        (r"\left(a + b\right)^{c + d}", ["(a ", "{} + b)^{c + d}"]),
        (r"\frac{a + b}{c} \geq 0, \  1", [r"\frac{a + b}{c} ", r"{} \geq 0,", r" \  1"]),
        (r"\left\{a + b\right.", [r"\{a ", "{} + b"]),
        (r"x \leftarrow y", [r"x \leftarrow y"]),
        (r"\begin{cases} a + b & c\end{cases}", [r"\begin{cases} a + b & c\end{cases}"]),
    ],
)
def test_a_formula_breaks_outside_of_braces(formula: str, broken: list[str]) -> None:
    assert pieces(formula) == broken
    assert fitted(formula).startswith(rf"\formula{{{formula}}}{{\piece{{{broken[0]}}}")
