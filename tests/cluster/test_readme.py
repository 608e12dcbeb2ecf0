"""README.md's clusters come to life by the commands that it tells, on one machine and on three."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path

import pytest

from tests.cluster import documented
from tests.cluster.machines import Machines, why_not

WHY_NOT = why_not()
pytestmark = [
    pytest.mark.spark,
    pytest.mark.timeout(600),
    pytest.mark.skipif(WHY_NOT is not None, reason=str(WHY_NOT)),
]
GOING_ON = ("serve", "agent")
CONTACT = Path(".tradewind") / "coordinator" / "client.json"


def test_a_cluster_on_one_machine(tmp_path: Path) -> None:
    commands = documented.on_one_machine()
    assert [verb(one) for one in commands[:4]] == ["serve", "agent", "agent", "agent"]
    with Machines(tmp_path, "") as machines:
        for command in commands:
            follow(machines, "", command)


@pytest.mark.slow
def test_a_cluster_on_three_machines(tmp_path: Path) -> None:
    commands = documented.on_several()
    tokens: dict[str, str] = {}
    with Machines(tmp_path, "hq", "north", "south") as machines:
        for machine, command in commands:
            site = re.search(r"--site (\w+)", command)
            told = follow(machines, machine, command.replace("TOKEN", tokens[site[1]]) if site else command)
            if verb(command) == "token":
                tokens[command.split()[2]] = told.strip()


def follow(machines: Machines, machine: str, command: str) -> str:
    """Do as a reader does, who waits for what a command is for before typing the next."""
    if verb(command) not in GOING_ON:
        if verb(command) == "results":
            wait_for_rows(machines, machine, command)
        told = machines.run(machine, command)
        assert told.strip()
        return told
    machines.start(machine, command)
    if verb(command) == "serve":
        wait_for_coordinator(machines, machine)
    return ""


def wait_for_coordinator(machines: Machines, machine: str) -> None:
    """The coordinator says where it is once it can be asked."""
    end = time.monotonic() + 90
    while not (machines.folder(machine) / CONTACT).exists() or "coordinator at" not in said(machines):
        machines.check_alive()
        assert time.monotonic() < end, "the coordinator does not start"
        time.sleep(0.2)


def said(machines: Machines) -> str:
    return "".join(log.read_text() for log in machines.folder("").glob("*.log"))


def wait_for_rows(machines: Machines, machine: str, command: str) -> None:
    """A reader who sees no rows looks again. Those that are final have heard of both shops."""
    end = time.monotonic() + 300
    while not any(row["_final"] for row in json.loads(machines.run(machine, f"{command} --json"))):
        machines.check_alive()
        assert time.monotonic() < end, "no results come"
        time.sleep(1)


def verb(command: str) -> str:
    return command.split()[1]
