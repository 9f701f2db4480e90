"""One Hypothesis profile for all tests: the same examples every run, and no clock."""

from hypothesis import HealthCheck, settings

settings.register_profile("lindyn", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("lindyn")
