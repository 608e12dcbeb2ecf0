"""Java that does not live long does not compile as thoroughly as it can, which takes half of the time of short runs."""

import os


def java() -> None:
    """Let those that are started from here on know, unless somebody has said something else."""
    os.environ.setdefault("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m")
