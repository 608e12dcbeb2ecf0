"""Settings for all tests: hypothesis repeats itself in CI and is given time, because these machines are noisy."""

from hypothesis import HealthCheck, settings

settings.register_profile(
    "tradewind",
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("tradewind")
