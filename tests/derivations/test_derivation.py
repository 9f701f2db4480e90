"""Derivations: from a loss to critical times, of named objectives and of one's own."""

import time

import mpmath
import pytest
from sympy import Eq, Rational, S, simplify

from derivations.balls import enclosed
from derivations.derivation import Derivation, derive, derive_loss, objectives
from derivations.expression import LossError
from derivations.gradient_flow import LOSSES
from derivations.notation import L, M, epsilon, lam, p, rho, u
from derivations.numbers import answers, derivation_of, settings
from dynamics.errors import LindynError, ParameterError

JEPA = "sigma**2*(v*u**L)**2/2 - lam*v*u**L*sg(u**L)"
WEIGHT_DECAY = "sigma**2*(v*u**L)**2/2 - lam*v*u**L*sg(u**L) + L*u**2/200 + v**2/200"
MIXTURE = "sigma**2*(v*u**L)**2/2 - lam*v*u**L*(sg(u**L) + 1)/2"
SCALED = "sigma**2*(2*v*u**L)**2/2 - 2*lam*v*u**L*sg(u**L)"


def titles(derivation: Derivation) -> list[str]:
    return [line.title for line in derivation.lines]


def formula(derivation: Derivation, title: str, place: int = 0) -> Eq:
    return next(line for line in derivation.lines if line.title == title).formulas[place]


@pytest.mark.parametrize("objective", ["jepa", "mae"])
@pytest.mark.parametrize("depth", range(1, 11))
@pytest.mark.slow
@pytest.mark.timed
def test_every_depth_is_derived_in_five_seconds(objective: str, depth: int) -> None:
    before = time.perf_counter()
    derivation = derive(objective, depth, 1)
    assert time.perf_counter() - before < 5
    assert derivation.member is not None
    expected = (2 * depth, 1) if objective == "jepa" else (depth, depth + 1)
    assert (derivation.member.a, derivation.member.b) == expected


@pytest.mark.parametrize("objective", objectives())
def test_a_derivation_for_every_depth_is_symbolic(objective: str) -> None:
    derivation = derive(objective)
    assert derivation.member is not None
    assert derivation.member.a.has(L)
    assert titles(derivation)[-1] == "Elasticities"


def test_a_supervised_network_counts_all_its_layers() -> None:
    supervised, mae = derive("supervised", 3), derive("mae", 2, 1)
    assert supervised.member == mae.member
    with pytest.raises(ParameterError, match="depth is 1"):
        derive("supervised", 1)
    with pytest.raises(ParameterError, match="predictor_depth is 2"):
        derive("supervised", 3, 2)


def test_the_written_out_time_is_the_textbook_one() -> None:
    """JEPA, L = M = 1: (1/lam) (1/eps - 1/(p rho)) + (1/(lam rho)) ln(p rho (1 - eps/rho) / (eps (1 - p)))."""
    written = formula(derive("jepa", 1, 1), "Critical time", 1).rhs
    with mpmath.workdps(40):
        one, r, e, share = mpmath.mpf(3) / 2, mpmath.mpf(1) / 2, mpmath.mpf(1) / 100, mpmath.mpf(1) / 3
        expected = (1 / e - 1 / (share * r)) / one + mpmath.log(share * r * (1 - e / r) / (e * (1 - share))) / (one * r)
        point = {lam: Rational(3, 2), rho: S.Half, epsilon: Rational(1, 100), p: Rational(1, 3)}
        found = enclosed(sum(written.args), point)
        assert abs(mpmath.mpf(found.str(35, radius=False)) - expected) < mpmath.mpf(10) ** -30


def test_every_line_of_the_opening_follows_from_the_loss() -> None:
    derivation = derive("jepa")
    assert titles(derivation)[:4] == ["Loss", "Gradient flow", "Conserved quantity", "Mode equation"]
    assert simplify(formula(derivation, "Mode equation").rhs - lam * u ** (2 * L + M - 1) * (1 - u**M / rho)) == 0


def test_ones_own_jepa_is_jepa() -> None:
    own, named = derive_loss(JEPA, 3), derive("jepa", 3, 1)
    assert own.member == named.member
    assert titles(own) == titles(named)
    assert own.predictor_depth == 1, "a loss without M has one predictor layer"


def test_a_scaled_predictor_stays_in_the_family() -> None:
    member = derive_loss(SCALED).member
    assert member is not None
    assert (member.growth, member.capacity, member.b) == (2 * lam, rho / 2, 1)


@pytest.mark.parametrize("loss", [WEIGHT_DECAY, MIXTURE])
def test_other_losses_get_fixed_points_and_partial_fractions(loss: str) -> None:
    derivation = derive_loss(loss, 2, 1)
    assert derivation.member is None
    assert titles(derivation)[-2:] == ["Fixed points", "Time by partial fractions"]
    assert titles(derive_loss(loss))[-1] == "Not one of the family"


def test_weight_decay_conserves_nothing_but_keeps_balance() -> None:
    assert "Balance" in titles(derive_loss(WEIGHT_DECAY, 2, 1))
    assert "Conserved quantity" in titles(derive_loss(MIXTURE, 2, 1))


@pytest.mark.parametrize(
    ("loss", "sentence"),
    [
        ("v*u", "has no positive fixed point"),
        ("u**2*v", "does not contain L; give --depth"),
        ("sigma**2*(v**M*u**L)**2/2 - lam*v**M*u**L*u**L", "has no balanced line"),
        ("u*v - u**2*v**2/(1 + u*v)", "is no sum of powers of u"),
        ("sigma**2*v**2*u**(2*L) + lam*u**L*v", "has no positive fixed point"),
    ],
)
def test_a_loss_without_an_answer_is_refused_with_the_reason(loss: str, sentence: str) -> None:
    with pytest.raises(LossError, match=sentence):
        derive_loss(loss, 1 if loss.startswith(("v*u", "u*v")) else None)


@pytest.mark.parametrize("depth", [0, -1, 1.5, "2", True, 10**9])
def test_a_depth_that_is_no_positive_whole_number_is_refused(depth: object) -> None:
    with pytest.raises(ParameterError, match="depth is "):
        derive("jepa", depth)  # type: ignore[arg-type]


def test_an_unknown_objective_is_refused_with_the_nearest() -> None:
    with pytest.raises(LindynError, match=r"There is no objective jep; the nearest is jepa\."):
        derivation_of("jep", None, None, None)
    with pytest.raises(LindynError, match="the objectives are jepa, mae, supervised"):
        derivation_of("00", None, None, None)


def test_features_pair_up_over_a_grid() -> None:
    points = settings([1.0, 2.0], [0.5], [0.01, 0.1], [0.5])
    assert points == [(1.0, 0.5, 0.01, 0.5), (2.0, 0.5, 0.01, 0.5), (1.0, 0.5, 0.1, 0.5), (2.0, 0.5, 0.1, 0.5)]
    with pytest.raises(ParameterError, match="rho is given 3 times"):
        settings([1.0, 2.0], [0.5, 0.6, 0.7], [0.1], [0.5])


def test_numbers_need_a_depth() -> None:
    with pytest.raises(LindynError, match="Numbers need a --depth"):
        answers(derive("jepa"), settings([1.0], [0.5], [0.01], [0.5]))


def test_numbers_are_the_closed_form() -> None:
    """MAE, L = M = 1: t = 1/(2 lam) ln(p^2 (rho - eps^2) / (eps^2 (1 - p^2)))."""
    (answer,) = answers(derive("mae", 1, 1), settings([0.8], [1.2], [0.01], [0.5]))
    with mpmath.workdps(40):
        e, share = mpmath.mpf(1) / 100, mpmath.mpf(1) / 2
        expected = mpmath.log(share**2 * (mpmath.mpf(12) / 10 - e**2) / (e**2 * (1 - share**2))) / (2 * mpmath.mpf(8) / 10)
        assert abs(mpmath.mpf(answer.found.time.str(32, radius=False)) - expected) < mpmath.mpf(10) ** -28


def test_every_named_objective_has_a_title_and_a_loss() -> None:
    assert set(objectives()) == set(LOSSES)
    assert {derive(objective, 3).title for objective in objectives()} == {
        "JEPA",
        "MAE",
        "Supervised network, its last layer as the decoder",
    }


def test_a_loss_of_numbers_alone_shows_its_fixed_points() -> None:
    """du/dt = 3 u^3 - u - u^5 at v = u, L = M = 1: u^2 = (3 -+ sqrt 5) / 2, unstable and stable."""
    derivation = derive_loss("u**2*v**2*(u*v)/6 - 3*u**2*v**2/4 + u**2/4 + v**2/4", 1)
    line = derivation.lines[4]
    assert line.title == "Fixed points"
    assert "(unstable), " in line.sentence


def test_an_encoder_alone_needs_no_predictor() -> None:
    derivation = derive_loss("sigma**2*u**(2*L)/2 - lam*u**L", 2)
    assert derivation.member is not None
    assert (derivation.member.a, derivation.member.b) == (1, 2)
    assert derivation.lines[2].title == "Balance"


def test_linear_regression_has_a_closed_form_and_no_dominant_term() -> None:
    """du/dt = lam (1 - u/rho): t = (rho/lam) ln((1 - eps/rho) / (1 - p)), which has a limit as eps tends to 0."""
    derivation = derive_loss("sigma**2*(u**L)**2/2 - lam*u**L", 1)
    (answer,) = answers(derivation, settings([0.8], [1.2], [0.01], [0.5]))
    with mpmath.workdps(40):
        share, ratio = mpmath.mpf(1) / 2, mpmath.mpf(12) / 10
        expected = ratio / (mpmath.mpf(8) / 10) * mpmath.log((1 - mpmath.mpf(1) / 100 / ratio) / (1 - share))
        point = {lam: Rational(4, 5), rho: Rational(6, 5), epsilon: Rational(1, 100), p: S.Half}
        written = enclosed(sum(formula(derivation, "Critical time", 1).rhs.args), point)
        for found in (answer.found.time, written):
            assert abs(mpmath.mpf(found.str(32, radius=False)) - expected) < mpmath.mpf(10) ** -28
    line = next(line for line in derivation.lines if line.title == "Small start")
    assert line.sentence == "As epsilon tends to 0 the time has a limit, as a < 1."
    assert len(line.formulas) == 1
    assert "repels" not in next(line for line in derivation.lines if line.title == "Fixed points").sentence


def test_growth_and_capacity_of_ones_own_have_elasticities_of_their_own() -> None:
    derivation = derive_loss("sigma**2*(v*u**L)**2/2 - rho*v*u**L", 2)
    names = [str(equation.lhs) for equation in derivation.lines[-1].formulas]
    assert names == ["E_growth", "E_capacity", "E_epsilon", "E_p"]
    assert "does not know the capacity" in next(line for line in derivation.lines if line.title == "Small start").sentence
