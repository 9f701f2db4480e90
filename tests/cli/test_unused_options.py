import numpy as np
import pytest

from tests.cli.running import refused, rows

PAIR = ("--lambda", "0.8,1", "--rho", "1.2,0.6")


@pytest.mark.parametrize("unused", [("--epsilon", "0.1"), ("--first", "1"), ("--time", "paper")])
def test_an_option_that_a_pair_does_not_use_is_refused(unused: tuple[str, str]) -> None:
    assert unused[0] in refused("order", *PAIR, "--pair", "1", "2", *unused)


@pytest.mark.parametrize("unused", [("--first", "1"), ("--time", "paper")])
def test_an_option_that_the_agreement_does_not_use_is_refused(unused: tuple[str, str]) -> None:
    assert unused[0] in refused("order", *PAIR, "--agreement", *unused)


@pytest.mark.parametrize("unused", [("--depth", "7"), ("--epsilon", "-3"), ("--objective", "mae"), ("--fraction", "0.1")])
def test_settings_of_ranks_need_a_bootstrap(unused: tuple[str, str], tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    np.save("x.npy", np.random.default_rng(0).normal(size=(20, 3)))
    assert unused[0] in refused("features", "x.npy", "--mask", "0.5", *unused)


def test_what_was_not_integrated_has_no_difference() -> None:
    never, reached = rows("critical-time", "--lambda=-1,1", "--sigma", "1", "--objective", "jepa", "--method", "scipy")
    assert never["difference"] == ""
    assert abs(float(reached["difference"])) < 1e-11
