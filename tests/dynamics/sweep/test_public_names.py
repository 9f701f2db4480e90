"""What a sweep is made with from Python."""

import dynamics.sweep

NAMES = (
    "STUDIES Cell EngineError Failure Gathered Store StoreError Sweep Tally WriteError cluster counted failures_table gathered"
    " processes read_sweep remarks_table run_sweep sweep_in sweep_of"
).split()


def test_the_public_names_are_these() -> None:
    assert sorted(dynamics.sweep.__all__) == sorted(NAMES)
    for name in NAMES:
        assert getattr(dynamics.sweep, name).__doc__, name
