"""What Prometheus is told: what a coordinator or a site measured, at the moment it is asked."""

from __future__ import annotations

from collections.abc import Iterable

from fastapi import APIRouter
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector
from starlette.responses import Response

from tradewind.web.asked import OfWhomever
from tradewind.web.desk import Sample

router = APIRouter(tags=["metrics"])
_PREFIX = "tradewind_"


@router.get(
    "/metrics",
    summary="Metrics in Prometheus' text format",
    response_class=Response,
    responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}},
)
def metrics(whom: OfWhomever) -> Response:
    return Response(exposed(whom.metrics()), media_type=CONTENT_TYPE_LATEST)


def exposed(samples: Iterable[Sample]) -> bytes:
    """Samples in Prometheus' text format; those of one name stand together, wherever they came.

    >>> samples = [("link_bytes_total", "Bytes over a link.", "counter", {"to": "hq"}, 5)]
    >>> print(exposed(samples).decode(), end="")
    # HELP tradewind_link_bytes_total Bytes over a link.
    # TYPE tradewind_link_bytes_total counter
    tradewind_link_bytes_total{to="hq"} 5.0
    """
    # A registry for each time it is asked: nothing of another asker or of the process is in it.
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Measured(samples))
    return generate_latest(registry)


class _Measured(Collector):
    def __init__(self, samples: Iterable[Sample]) -> None:
        self._samples = samples

    def collect(self) -> Iterable[Metric]:
        found: dict[str, Metric] = {}
        for name, text, kind, labels, value in self._samples:
            plain = _PREFIX + name.removeprefix(_PREFIX)
            base = plain.removesuffix("_total") if kind == "counter" else plain
            metric = found.setdefault(base, Metric(base, text, kind))
            metric.add_sample(f"{base}_total" if kind == "counter" else base, dict(labels), value)
        return found.values()
