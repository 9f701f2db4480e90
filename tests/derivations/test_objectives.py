"""The objectives that the library computes with are those that come out of their losses."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sympy import Expr, Integer, expand

from derivations.balls import enclosed
from derivations.closed_form import layer_fixed_point
from derivations.gradient_flow import LOSSES, Member, mode
from derivations.notation import L, M, N, lam, rho
from derivations.reduction import vanishes
from dynamics import Objective, jepa, mae, supervised
from dynamics.power_law import asymptote
from tests.strategies import objectives

NAMES = ("jepa", "mae", "supervised")


def derived(objective: Objective) -> Member:
    """The mode that comes out of the objective's loss, its layers filled in."""
    member = mode(objective.name)
    layers = {L: objective.depth, M: objective.predictor_depth}
    return Member(*(part.subs(layers) for part in (member.growth, member.a, member.b, member.capacity)))


@pytest.mark.parametrize(
    ("name", "a", "b"), [("jepa", 2 * L + M - 1, M), ("mae", L + M - 1, L + M), ("supervised", L + M - 1, L + M)]
)
def test_exponents_are_those_of_the_table_whatever_the_layers(name: str, a: Expr, b: Expr) -> None:
    member = mode(name)
    assert expand(member.a - a) == 0
    assert expand(member.b - b) == 0


@pytest.mark.parametrize("name", NAMES)
def test_every_loss_grows_at_lambda_and_saturates_at_rho(name: str) -> None:
    assert mode(name).growth == lam
    assert mode(name).capacity == rho


def test_every_loss_is_an_objective_of_the_library() -> None:
    assert set(LOSSES) == set(NAMES)
    assert {objective.name for objective in (jepa(2), mae(2), supervised(3))} == set(NAMES)


@pytest.mark.parametrize("make", [jepa, mae])
@pytest.mark.parametrize("depth", [*range(1, 13), 64, 1000])
def test_exponents_of_jepa_and_mae_are_derived_ones(make: type[Objective], depth: int) -> None:
    for predictor_depth in (*range(1, 9), 100):
        objective = make(depth, predictor_depth)
        member = derived(objective)
        assert (member.a, member.b) == (objective.a, objective.b)
        assert (member.a.is_Integer, member.b.is_Integer) == (True, True)


@pytest.mark.parametrize("layers", [*range(2, 14), 1000])
def test_exponents_of_a_supervised_network_are_derived_ones(layers: int) -> None:
    objective = supervised(layers)
    member = derived(objective)
    assert (member.a, member.b) == (objective.a, objective.b) == (layers - 1, layers)


def test_a_supervised_network_counts_its_last_layer_as_the_decoder() -> None:
    member = mode("supervised")
    assert expand(member.a.subs({L: N - 1, M: 1}) - (N - 1)) == 0
    assert expand(member.b.subs({L: N - 1, M: 1}) - N) == 0


@settings(max_examples=50)
@given(objectives())
def test_exponents_agree_for_any_objective(objective: Objective) -> None:
    member = derived(objective)
    assert (member.a, member.b) == (objective.a, objective.b)
    assert (member.a - 1) / member.b == Integer(objective.alpha.numerator) / objective.alpha.denominator


@pytest.mark.parametrize("name", NAMES)
def test_the_mode_stands_still_at_the_fixed_point(name: str) -> None:
    member = mode(name)
    assert vanishes(layer_fixed_point(member) ** member.b - rho)


@settings(max_examples=50)
@given(objectives(max_depth=12), st.floats(0.01, 10.0))
def test_the_asymptote_is_the_product_of_fixed_layers(objective: Objective, capacity: float) -> None:
    twin = enclosed(layer_fixed_point(derived(objective)) ** objective.depth, {rho: Integer(1) * _exact(capacity)})
    found = asymptote(objective, np.array([capacity]))[0]
    assert abs(float(found / twin) - 1) <= 2.0**-51


def _exact(value: float) -> Expr:
    numerator, denominator = value.as_integer_ratio()
    return Integer(numerator) / denominator
