"""Every statement is proved, every mutant is rejected, and what is printed is what is checked."""

import string

import pytest

from derivations.notation import L, lam, u
from derivations.proof import Identity, Proof, Sampled
from derivations.statement import STATEMENTS as REGISTRY
from derivations.statement import statement
from derivations.statements import STATEMENTS
from derivations.verification import Result, selected, verify

THEORY = """
    jepa-gradients mae-gradients jepa-matrix-gradients mae-matrix-gradients diagonal-stays-diagonal
    diagonal-entries-obey-the-scalar-system layers-stay-equal jepa-conserves-balance mae-conserves-balance jepa-mode
    mae-mode jepa-product-mode mae-product-mode one-curve-two-clocks jepa-asymptote mae-asymptote approach-rate
    closed-form closed-form-with-logarithm jepa-critical-time supervised-is-mae two-layer-sigmoid logistic-clock
    critical-time jepa-expansion mae-expansion expansion expansion-with-logarithm dominant-term
    first-term-that-knows-rho elasticity-lambda elasticity-rho elasticity-epsilon elasticity-fraction
    critical-time-is-monotone jepa-equal-lambda-ratio jepa-equal-lambda-ratio-one-layer mae-equal-lambda-ratio
    mae-equal-lambda-ratio-one-layer deeper-predictor-weakens-the-bias sharp-epsilon lambda-decides-for-a-small-start
    depth-limit depth-crossover depth-at-which-the-asymptote-falls-below-the-start independent-mask-moments ar1-moments
    rank-k-optimum-orders-by-lambda-rho ema-fixed-point unbalanced-asymptote predictor-rate-asymptote weight-decay-fold
    negative-lambda-decay zero-lambda-decay
""".split()


@pytest.fixture(scope="module")
def results() -> list[Result]:
    return verify(selected(), mutants=True)


@pytest.mark.slow
def test_every_statement_is_proved(results: list[Result]) -> None:
    for verdict in (result.verdict for result in results):
        assert verdict.proved, f"{verdict.statement}: {verdict.failure}"
        assert not verdict.refuted
        assert verdict.seconds < 10
        assert any(not isinstance(step, Sampled) for step in verdict.steps)
    assert len(results) == len(STATEMENTS)


@pytest.mark.slow
def test_every_mutant_is_rejected_by_reduction_and_refuted_by_numbers(results: list[Result]) -> None:
    for verdict in (mutant for result in results for mutant in result.mutants):
        told = f"{verdict.statement}: {verdict.mutant}: {verdict.failure}"
        assert verdict.rejected, told
        assert verdict.refuted, told
        rejecting = [
            (step, finding) for step, finding in zip(verdict.steps, verdict.findings, strict=True) if not finding.holds
        ]
        assert any(not finding.reduced or step.method == "certified" for step, finding in rejecting), told


def test_the_theory_is_covered() -> None:
    assert set(THEORY) <= set(STATEMENTS)
    assert len(STATEMENTS) >= 35


@pytest.mark.parametrize("name", STATEMENTS)
def test_every_statement_says_what_it_claims_and_is_guarded(name: str) -> None:
    given = STATEMENTS[name]
    named = {field for _, field, _, _ in string.Formatter().parse(given.claim) if field}
    assert named <= set(given.formulas), "the claim shows a formula that the proof does not take"
    assert given.source
    assert len({mutant.name for mutant in given.mutants}) == len(given.mutants) >= 3
    for mutant in given.mutants:
        assert any(mutant.altered[key] != given.formulas[key] for key in mutant.altered)


def test_a_range_of_depths_is_told() -> None:
    verdict = STATEMENTS["diagonal-stays-diagonal"].examine()
    assert verdict.method == "exact for L = 1..3, M = 1, 2, d = 2, 3"


def test_a_false_statement_is_refused() -> None:
    def proof(rate: object = lam * u**L) -> Proof:
        return (Identity("A falsehood.", lam * u ** (L + 1), rate),)

    try:
        made = statement("a-falsehood", claim="{rate}", source="nowhere")(proof)
        verdict = made.examine()
    finally:
        REGISTRY.pop("a-falsehood")
    assert not verdict.proved
    assert verdict.refuted
    assert "It fails at" in verdict.failure


def test_a_statement_without_steps_is_not_proved() -> None:
    try:
        verdict = statement("nothing", claim="Nothing.", source="nowhere")(lambda: ()).examine()
    finally:
        REGISTRY.pop("nothing")
    assert not verdict.proved


def test_two_statements_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match="two statements jepa-mode"):
        statement("jepa-mode", claim="", source="nowhere")(lambda: ())


def test_a_mutant_alters_a_formula_of_the_claim() -> None:
    with pytest.raises(TypeError, match="has the formulas rate"):
        STATEMENTS["jepa-mode"].mutant("of nothing", speed=lam)


def test_the_same_points_are_tried_every_time() -> None:
    verdicts = [STATEMENTS["jepa-mode"].examine(STATEMENTS["jepa-mode"].mutants[0]) for _ in range(2)]
    assert verdicts[0].failure == verdicts[1].failure
