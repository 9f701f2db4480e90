import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from dynamics import Certainty, Features, critical_times, jepa, kendall_tau, mae, order_features
from dynamics.learning_order import plain_ranks
from tests.strategies import objectives


def features_of(count: int, seed: int) -> Features:
    rng = np.random.default_rng(seed)
    return Features(lam=10.0 ** rng.uniform(-1, 1, count), rho=10.0 ** rng.uniform(-1, 0.3, count))


@given(objectives(), st.integers(2, 12), st.integers(0, 10_000))
def test_the_sequence_sorts_the_critical_times(objective, count, seed) -> None:
    features = features_of(count, seed)
    order = order_features(objective, features, epsilon=1e-9)
    times = critical_times(objective, features, epsilon=1e-9)
    in_order = times.log10_time[order.sequence]
    assert (in_order[1:] >= in_order[:-1]).all()
    assert sorted(order.sequence.tolist()) == list(range(count))


def test_at_equal_rho_lambda_decides_and_at_equal_lambda_rho_decides_jepa() -> None:
    by_lambda = order_features(jepa(3), Features(lam=[1.0, 3.0, 2.0], rho=0.7), epsilon=1e-4)
    by_rho = order_features(jepa(3), Features(lam=1.0, rho=[0.5, 0.9, 0.7]), epsilon=1e-4)
    assert_array_equal(by_lambda.rank, [3, 1, 2])
    assert_array_equal(by_rho.rank, [3, 1, 2])


def test_features_one_ulp_apart_are_still_certified() -> None:
    twins = Features(lam=[1.0, np.nextafter(1.0, 2.0)], rho=[0.8, 0.8])
    order = order_features(jepa(5), twins, epsilon=1e-12)
    assert_array_equal(order.rank, [2, 1])
    assert order.certainty[1] is Certainty.CERTIFIED


def test_a_difference_far_below_a_double_is_certified() -> None:
    """At equal lambda and JEPA depth 1 the times differ by about |ln epsilon| / rho, 1e-297 of the whole at epsilon 1e-300."""
    pair = Features(lam=[1.0, 1.0], rho=[0.8, 0.9])
    order = order_features(jepa(1), pair, epsilon=1e-300)
    assert order.times.time[0] == order.times.time[1]
    assert_array_equal(order.rank, [2, 1])
    assert order.certainty[1] is Certainty.CERTIFIED


def test_ties_share_a_rank() -> None:
    features = Features(lam=[1.0, 2.0, 1.0, -1.0, 0.0, 1.0], sigma=[1.0, 1.0, 1.0, 1.0, 1.0, 1e3])
    order = order_features(jepa(2), features, epsilon=1e-3)
    assert_array_equal(order.rank, [3, 2, 3, 5, 5, 1])
    assert [order.certainty[feature] for feature in order.sequence] == [
        Certainty.CERTIFIED,  # already reached at time 0, its asymptote being 1e-12
        Certainty.CERTIFIED,
        Certainty.TIE,
        Certainty.CERTIFIED,
        Certainty.TIE,
        Certainty.LAST,
    ]


def test_plain_ranks_are_the_certified_ones_where_doubles_suffice() -> None:
    features = features_of(200, 3)
    assert_array_equal(plain_ranks(mae(2), features, epsilon=1e-3), order_features(mae(2), features, epsilon=1e-3).rank)


def test_kendall_tau_is_one_for_the_same_and_minus_one_for_the_reverse_order() -> None:
    same = Features(lam=[1.0, 2.0, 3.0], rho=[0.5, 0.5, 0.5])
    assert kendall_tau(*(order_features(kind(2), same, epsilon=1e-3) for kind in (jepa, mae))) == pytest.approx(1.0)
    crossed = Features(lam=[0.8, 1.0], rho=[1.2, 0.6])
    assert kendall_tau(*(order_features(kind(3), crossed, epsilon=1e-2) for kind in (jepa, mae))) == pytest.approx(-1.0)


def test_kendall_tau_counts_pairs_by_hand() -> None:
    features = features_of(30, 11)
    first, second = (order_features(kind(4), features, epsilon=1e-5) for kind in (jepa, mae))
    pairs = [(i, j) for i in range(30) for j in range(i)]
    agreement = sum(math.copysign(1, (first.rank[i] - first.rank[j]) * (second.rank[i] - second.rank[j])) for i, j in pairs)
    assert kendall_tau(first, second) == pytest.approx(agreement / len(pairs))


def test_kendall_tau_is_undefined_for_a_single_feature_or_a_single_tie() -> None:
    for features in (Features(lam=1.0, rho=1.0), Features(lam=[-1.0, -2.0], sigma=1.0)):
        orders = [order_features(kind(2), features, epsilon=1e-3) for kind in (jepa, mae)]
        assert kendall_tau(*orders) is None


def test_every_certainty_has_a_sentence() -> None:
    assert all(certainty.message.endswith(".") for certainty in Certainty)
