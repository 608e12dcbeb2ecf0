"""Log lines as JSON, for machines that read them."""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime


class JsonLogs:
    """Writes what some loggers say to stderr, an object a line, until it ends."""

    def __init__(self, *names: str) -> None:
        self._handler = logging.StreamHandler()
        self._handler.setFormatter(_Lines())
        self._loggers = [logging.getLogger(name) for name in names]
        self._propagated = [logger.propagate for logger in self._loggers]
        for logger in self._loggers:
            logger.addHandler(self._handler)
            # Or a handler further up would say it once more, in its own way.
            logger.propagate = False

    def end(self) -> None:
        """Leaves the loggers as they were."""
        for logger, propagated in zip(self._loggers, self._propagated, strict=True):
            logger.removeHandler(self._handler)
            logger.propagate = propagated


class _Lines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line)
