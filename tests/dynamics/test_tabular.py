import pytest

from dynamics import (
    Features,
    amplitude,
    critical_times,
    elasticities,
    enclosures,
    expansion,
    jepa,
    order_features,
    trajectories,
)

PAIR = Features(lam=[0.8, 1.0], rho=[1.2, 0.6], names=["texture", "edge"])
ASKED = {"epsilon": 1e-3, "fraction": 0.5}


@pytest.mark.parametrize("question", [critical_times, elasticities, expansion, enclosures, order_features, trajectories])
def test_every_result_becomes_a_data_frame(question) -> None:
    frame = question(jepa(3), PAIR, **ASKED).to_dataframe()
    assert len(frame) == (100 if question is trajectories else 2)
    assert not frame.isna().any().any()


def test_a_data_frame_of_critical_times_has_the_standard_columns() -> None:
    result = critical_times(jepa(3), PAIR, **ASKED)
    frame = result.to_dataframe()
    assert frame["feature"].tolist() == ["texture", "edge"]
    assert frame["critical_time"].tolist() == result.time.tolist()
    assert frame.columns.tolist()[-4:] == ["asymptote", "critical_time", "log10_critical_time", "status"]


@pytest.mark.parametrize("epsilon", [1e-300, 1e-12, 0.2, 3.0])
def test_a_curve_starts_exactly_at_its_start(epsilon: float) -> None:
    features = Features(lam=[1.0, 0.2, -1.0, 0.0], sigma=[1.0, 4.0, 1.0, 1.0])
    curves = trajectories(jepa(2), features, epsilon=epsilon, points=5)
    assert (curves.time[:, 0] == 0).all()
    assert (curves.amplitude[:, 0] == epsilon).all()
    assert (curves.time_from_critical[:, 0] == -curves.critical.time).all()
    assert (curves.amplitude[2:] <= epsilon).all()
    assert (amplitude(jepa(2), features, epsilon=epsilon, time=0.0)[:, 0] == epsilon).all()
