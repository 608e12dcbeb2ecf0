"""Messages as JSON: each line an object with time, level, component and message, whoever speaks."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
import threading
from datetime import datetime, timedelta

import httpx
import pytest
import typer

from tests.web.paper_desk import SECRET, made
from tradewind.cli.messages import speaking
from tradewind.errors import InputError, RunError
from tradewind.web.serving import Served


def lines(text: str) -> list[dict]:
    """The lines of a text, each checked."""
    found = [json.loads(line) for line in text.splitlines()]
    for one in found:
        assert list(one)[:4] == ["time", "level", "component", "message"]
        assert datetime.fromisoformat(one["time"]).utcoffset() == timedelta(0)
        assert one["level"] in {"info", "warning", "error"}
    return found


def test_people_are_told_the_text_and_nothing_else(capfd):
    with speaking("ams", as_json=False) as say:
        say("epoch 3", epoch=3)
        say("the disk is full.", level="warning")
    assert capfd.readouterr().err == "epoch 3\nthe disk is full.\n"


def test_machines_are_told_all_of_it(capfd):
    with speaking("ams", as_json=True) as say:
        say("epoch 3", epoch=3)
        say('two\nlines, "quoted", ü', level="warning")
    first, second = lines(capfd.readouterr().err)
    assert {**first, "time": ""} == {"time": "", "level": "info", "component": "ams", "message": "epoch 3", "epoch": 3}
    assert (second["level"], second["message"]) == ("warning", 'two\nlines, "quoted", ü')


def test_lines_of_many_threads_are_whole(capfd):
    with speaking("ams", as_json=True) as say:

        def talk() -> None:
            for _ in range(50):
                say("x" * 5_000)

        threads = [threading.Thread(target=talk) for _ in range(8)]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
    assert len(lines(capfd.readouterr().err)) == 400


@pytest.mark.parametrize(("error", "code"), [(InputError("no."), 2), (RunError("broke."), 1), (OSError("full"), 1)])
def test_an_error_is_the_last_line_and_the_exit_code_stays(error, code, capfd):
    with pytest.raises(typer.Exit) as ended, speaking("ams", as_json=True):
        raise error
    assert ended.value.exit_code == code
    (line,) = lines(capfd.readouterr().err)
    assert (line["level"], line["message"]) == ("error", str(error))
    with pytest.raises(type(error)), speaking("ams", as_json=False):
        raise error


def test_what_the_http_interface_logs_is_json_too_and_all_is_as_before_afterwards(capfd):
    before = list(logging.getLogger().handlers)
    with speaking("coordinator", as_json=True), Served.start(made()) as served:
        url = f"http://127.0.0.1:{served.port}"
        httpx.get(f"{url}/v1/status", headers={"Authorization": "Bearer wrong"})
        httpx.post(f"{url}/v1/apply", headers={"Authorization": f"Bearer {SECRET}"}, json={"text": "break"})
    assert logging.getLogger().handlers == before
    warned, failed = lines(capfd.readouterr().err)
    assert (warned["level"], warned["component"], warned["logger"]) == (
        "warning", "coordinator", "tradewind.web.security",
    )  # fmt: skip
    assert warned["message"] == "a wrong secret from 127.0.0.1"
    assert failed["level"] == "error"
    assert "Traceback" in failed["message"]
    assert SECRET not in json.dumps([warned, failed])


@pytest.mark.parametrize(
    ("words", "component"),
    [
        (["agent", "--site", "ams"], "ams"),
        (["agent", "--site", "ams", "--join", "good-token@127.0.0.1:1"], "ams"),
        (["serve", "none.yaml"], "coordinator"),
        (["run", "none.yaml", "--until-done"], "run"),
    ],
)
def test_commands_that_cannot_begin_say_so_in_one_line(words, component, tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "tradewind.cli.main", *words, "--json-logs"],
        capture_output=True, text=True, check=False, cwd=tmp_path, timeout=60,
    )  # fmt: skip
    assert done.returncode in {1, 2}
    (line,) = lines(done.stderr)
    assert (line["level"], line["component"]) == ("error", component)
    assert "good-token" not in done.stderr
