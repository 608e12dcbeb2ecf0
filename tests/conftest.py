"""Settings for all tests: hypothesis repeats itself in CI and is given time, because these machines are noisy; Java
does not compile as thoroughly as it can, which takes half of the time of short runs.
"""

import os

from hypothesis import HealthCheck, settings

os.environ.setdefault("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m")
settings.register_profile(
    "tradewind",
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("tradewind")
