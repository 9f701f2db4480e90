"""From a loss to a mode: what is differentiated, conserved and kept, and which losses belong to the family."""

import mpmath
import pytest
from sympy import Expr, Integer, Rational, S, Symbol, expand, log, simplify, symbols

from derivations.gradient_flow import (
    LOSSES,
    Flow,
    Member,
    balanced_line,
    balanced_rate,
    conserved,
    family_member,
    gradient_flow,
    mode,
    powers_of_layer,
)
from derivations.notation import L, M, eta, lam, released, rho, sg, sigma, u, v, w
from derivations.reduction import vanishes

kappa = Symbol("kappa", positive=True)
NAMES = ("jepa", "mae", "supervised")
UNSTOPPED = released(LOSSES["jepa"])
DECAYING = {name: loss + L * eta * u**2 / 2 + M * eta * v**2 / 2 for name, loss in LOSSES.items()}


def along(quantity: Expr, flow: Flow) -> Expr:
    return quantity.diff(u) * flow.encoder + quantity.diff(v) * flow.predictor


# --- the stop-gradient ----------------------------------------------------------------------------------------------------


def test_nothing_flows_through_a_stop_gradient() -> None:
    assert sg(u**L).diff(u) == 0
    assert (v * sg(u)).diff(v) == sg(u)
    assert (u * sg(u)).diff(u) == sg(u)


def test_a_released_target_has_the_value_it_held() -> None:
    assert released(v * sg(u**L)) == v * u**L
    assert released(sg(u * sg(v))) == u * v


def test_freezing_changes_the_flow_of_jepa() -> None:
    assert not vanishes(gradient_flow(LOSSES["jepa"]).encoder - gradient_flow(UNSTOPPED).encoder)
    assert vanishes(gradient_flow(LOSSES["jepa"]).predictor - gradient_flow(UNSTOPPED).predictor)


# --- the layers one by one ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize("predictor_depth", [1, 2, 3])
@pytest.mark.parametrize("name", NAMES)
def test_a_layer_moves_against_the_slope_of_the_loss_by_that_layer_alone(name: str, predictor_depth: int, depth: int) -> None:
    """Every layer has its own amplitude; the target stays where it is."""
    point = {lam: 0.7, sigma: 1.1, u: 0.6, v: 0.8}
    with mpmath.workdps(30):
        target = mpmath.mpf(point[u]) ** depth if name == "jepa" else mpmath.mpf(1)

        def loss(encoder: mpmath.mpf, predictor: mpmath.mpf) -> mpmath.mpf:
            """One layer of each kind moved, the others left."""
            product = encoder * mpmath.mpf(point[u]) ** (depth - 1) * predictor * mpmath.mpf(point[v]) ** (predictor_depth - 1)
            return mpmath.mpf(point[sigma]) ** 2 * product**2 / 2 - mpmath.mpf(point[lam]) * product * target

        slopes = (
            mpmath.diff(lambda at: loss(at, mpmath.mpf(point[v])), point[u]),
            mpmath.diff(lambda at: loss(mpmath.mpf(point[u]), at), point[v]),
        )
    flow = gradient_flow(LOSSES[name])
    found = [float(rate.subs({L: depth, M: predictor_depth}).subs(point)) for rate in (flow.encoder, flow.predictor)]
    assert found == pytest.approx([-float(slope) for slope in slopes], rel=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_the_jacobian_is_what_finite_differences_of_the_loss_see(name: str) -> None:
    """Curvature along each kind of layer, the target moving with the encoder once the loss has been differentiated."""
    flow, point, step = gradient_flow(LOSSES[name]), {lam: 0.7, sigma: 1.1, u: 0.6, v: 0.8, L: 3, M: 2}, 1e-6
    frozen = LOSSES[name].replace(sg, lambda held: w**L)
    for by in (u, v):
        for layer, count, rate in ((u, 3, flow.encoder), (v, 2, flow.predictor)):
            ends = []
            for sign in (1, -1):
                moved = {**point, by: point[by] + sign * step}
                around = [
                    float(frozen.subs({**moved, layer: moved[layer] + turn * 1e-4, w: moved[u]})) for turn in (-2, -1, 1, 2)
                ]
                ends.append(-(around[0] - 8 * around[1] + 8 * around[2] - around[3]) / (12e-4 * count))
            assert float(rate.diff(by).subs(point)) == pytest.approx((ends[0] - ends[1]) / (2 * step), abs=1e-5)


# --- what is conserved ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_losses_of_a_product_conserve_balance_whatever_the_layers(name: str) -> None:
    flow = gradient_flow(LOSSES[name])
    assert expand(conserved(flow) - (v**2 - u**2)) == 0
    assert vanishes(along(v**2 - u**2, flow))
    assert balanced_line(flow) == u


@pytest.mark.parametrize(
    ("loss", "constant"),
    [
        ((kappa * v * u) ** 2 * sigma**2 / 2 - lam * kappa * v * u, v**2 - u**2),
        (sigma**2 * v**4 * u**2 / 2 - lam * v**2 * u, v**2 - 2 * u**2),
        (sigma**2 * v**2 * u**6 / 2 - lam * v * u**3, v**2 - u**2 / 3),
        (lam * u * v - lam * log(u * v), v**2 - u**2),
    ],
    ids=["a scaled predictor", "a squared predictor", "a cubed encoder layer", "no power law"],
)
def test_other_losses_of_a_product_conserve_a_weighted_balance(loss: Expr, constant: Expr) -> None:
    flow = gradient_flow(loss.subs({L: 1, M: 1}))
    flow = Flow(*(rate.subs({L: 1, M: 1}) for rate in (flow.encoder, flow.predictor)))
    found = conserved(flow)
    assert vanishes(along(found, flow))
    assert vanishes(found - constant)


def test_a_squared_predictor_keeps_the_line_on_which_its_constant_is_zero() -> None:
    flow = gradient_flow(sigma**2 * v**4 * u**2 / 2 - lam * v**2 * u)
    flow = Flow(*(rate.subs({L: 1, M: 1}) for rate in (flow.encoder, flow.predictor)))
    line = balanced_line(flow)
    assert vanishes(line**2 - 2 * u**2)
    assert vanishes((flow.encoder * line.diff(u) - flow.predictor).subs(v, line))
    assert balanced_rate(flow) is None


def test_a_faster_predictor_conserves_its_own_balance() -> None:
    flow = gradient_flow(LOSSES["jepa"])
    faster = Flow(flow.encoder, kappa * flow.predictor)
    assert vanishes(conserved(faster) - (v**2 - kappa * u**2))
    assert balanced_rate(faster) is None


@pytest.mark.parametrize("name", NAMES)
def test_weight_decay_conserves_nothing_and_keeps_the_balanced_line(name: str) -> None:
    flow = gradient_flow(DECAYING[name])
    assert conserved(flow) is None
    assert vanishes(along(v**2 - u**2, flow) + 2 * eta * (v**2 - u**2))
    assert balanced_line(flow) == u
    assert vanishes(balanced_rate(flow) - (balanced_rate(gradient_flow(LOSSES[name])) - eta * u))


def test_an_encoder_that_does_not_see_the_predictor_has_its_own_mode() -> None:
    assert balanced_rate(Flow(lam * u - u**3, v)) == lam * u - u**3


def test_without_its_stop_gradient_jepa_neither_conserves_nor_keeps_the_line() -> None:
    flow = gradient_flow(UNSTOPPED)
    assert conserved(flow) is None
    assert balanced_line(flow) is None
    assert balanced_rate(flow) is None
    assert not vanishes(along(v**2 - u**2, flow))


@pytest.mark.parametrize("flow", [Flow(S.Zero, u), Flow(u, S.Zero), Flow(u * v, 2 * v**2), Flow(u, v**-1), Flow(u + v, u)])
def test_what_has_no_power_law_that_stays_constant_gives_none(flow: Flow) -> None:
    """Layers at rest, slopes 2 v/u and 1/(u v) whose integrals are logarithmic, and one that is no product of powers."""
    assert conserved(flow) is None


@pytest.mark.parametrize("by_u", [-3, -2, 0, 1, 2])
@pytest.mark.parametrize("by_v", [-2, -1, 0, 2, 3])
def test_every_power_law_that_is_found_is_conserved_and_its_line_is_kept(by_u: int, by_v: int) -> None:
    flow = Flow(lam * u**2 * v, lam * u**2 * v * kappa * u**by_u * v**by_v)
    found = conserved(flow)
    assert vanishes(along(found, flow))
    line = balanced_line(flow)
    assert (line is None) == ((1 - by_v) * (1 + by_u) < 0)
    if line is not None:
        assert vanishes((flow.encoder * line.diff(u) - flow.predictor).subs(v, line))
        assert line.subs({kappa: 1, u: Rational(1, 10**12)}) < Rational(1, 1000)


# --- members of the family ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_the_objectives_are_members(name: str) -> None:
    member = family_member(balanced_rate(gradient_flow(LOSSES[name])))
    assert member == mode(name)
    assert vanishes(member.rate - balanced_rate(gradient_flow(LOSSES[name])).subs(sigma**2, lam / rho))


@pytest.mark.parametrize("name", NAMES)
def test_weight_decay_leaves_the_family(name: str) -> None:
    assert family_member(balanced_rate(gradient_flow(DECAYING[name]))) is None


def test_a_scaled_predictor_stays_in_the_family_with_its_own_growth_and_capacity() -> None:
    loss = sigma**2 * (kappa * v**M * u**L) ** 2 / 2 - lam * kappa * v**M * u**L * sg(u**L)
    member = family_member(balanced_rate(gradient_flow(loss)))
    assert member == Member(kappa * lam, 2 * L + M - 1, M, rho / kappa)


@pytest.mark.parametrize(
    ("rate", "member"),
    [
        (lam * u**3 - sigma**2 * u**5, Member(lam, Integer(3), Integer(2), rho)),
        (lam * u**L * (1 - u**M / rho), Member(lam, L, M, rho)),
        (lam * u * (1 - u / rho) ** 1, Member(lam, Integer(1), Integer(1), rho)),
        (eta * u**2 - kappa * u**3, Member(eta, Integer(2), Integer(1), eta / kappa)),
        (lam - sigma**2 * u, Member(lam, Integer(0), Integer(1), rho)),
        (lam * u * (rho - u**2) / rho, Member(lam, Integer(1), Integer(2), rho)),
        (lam * u ** (L + 1) / u - u**L * sigma**2 * u, Member(lam, L, Integer(1), rho)),
    ],
    ids=str,
)
def test_two_powers_that_grow_and_saturate_are_a_member(rate: Expr, member: Member) -> None:
    found = family_member(rate)
    assert found is not None
    assert vanishes(found.rate - rate.subs(sigma**2, lam / rho))
    pairs = zip(
        (found.growth, found.a, found.b, found.capacity), (member.growth, member.a, member.b, member.capacity), strict=True
    )
    assert all(simplify(one - other) == 0 for one, other in pairs)


@pytest.mark.parametrize(
    "rate",
    [
        S.Zero,
        lam * u**2,
        lam * u**2 + sigma**2 * u**3,
        sigma**2 * u**3 - lam * u**4 - eta * u,
        -lam * u**2 + sigma**2 * u**3,
        -lam * u**2 - sigma**2 * u**3,
        lam * u * (1 - log(u)),
        lam * u / (1 + u) - eta * u,
        lam * u**L - sigma**2 * u**M,
        lam * u ** (L + 1) - sigma**2 * u ** (2 * L),
        (lam - eta) * u**2 - sigma**2 * u**3,
        lam * u**u - u**2,
    ],
    ids=str,
)
def test_anything_else_is_none(rate: Expr) -> None:
    """Also where the order of the powers, or a sign, depends on what is not known."""
    assert family_member(rate) is None


def test_the_powers_of_a_rate_are_collected_in_lambda_and_rho() -> None:
    c, d = symbols("c d")
    assert powers_of_layer(c * u**3 + d * u**3 - u * sigma**2) == {Integer(3): c + d, Integer(1): -lam / rho}
    assert powers_of_layer(u * (u + 1) ** 2 / u**3) == {Integer(0): 1, Integer(-1): 2, Integer(-2): 1}
    assert powers_of_layer(u - u) == {}
    assert powers_of_layer(u**L * u**M) == {L + M: 1}
    assert powers_of_layer(1 / (1 + u)) is None
    assert powers_of_layer(log(u)) is None
