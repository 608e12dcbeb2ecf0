"""Processes that are killed while they make keys leave nothing half done."""

import random
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tradewind.trust.authority import Authority

pytestmark = pytest.mark.faults

OPENER = """
import sys
from pathlib import Path
from tradewind.trust.authority import Authority
print("ready", flush=True)
for number in range(10_000):
    folder = Path(sys.argv[1]) / str(number)
    folder.parent.mkdir(exist_ok=True)
    print(number, Authority.open(folder).fingerprint, flush=True)
"""


def test_an_authority_is_whole_and_one_whenever_its_maker_is_killed(tmp_path):
    chance = random.Random(7)
    for attempt in range(6):
        folder = tmp_path / str(attempt)
        with subprocess.Popen(
            [sys.executable, "-c", OPENER, str(folder)], stdout=subprocess.PIPE, text=True
        ) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            threading.Event().wait(chance.uniform(0, 0.05))
            process.kill()
            told = dict(line.split() for line in process.stdout.read().splitlines() if len(line.split()) == 2)
        for path in folder.iterdir():
            one, two = Authority.open(path), Authority.open(path)
            assert one.fingerprint == two.fingerprint
            assert one.sign(b"") == two.sign(b"")
            # What the killed one may have shown to others already.
            if len(told.get(path.name, "")) == 64:
                assert told[path.name] == one.fingerprint
            assert not list(path.glob("*.partial"))


def test_processes_that_open_it_at_once_get_one(tmp_path):
    opener = OPENER.replace("10_000", "30")
    processes = [
        subprocess.Popen([sys.executable, "-c", opener, str(tmp_path)], stdout=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    said = [process.communicate()[0] for process in processes]
    assert len(said[0].split()) == 61
    assert said[0] == said[1] == said[2]


# Each step that touches files is one at which a child is killed, the first one first, until one gets through.
STEPS = """
import os, signal, sys
from pathlib import Path
TOUCH = {"open", "os.rename", "os.mkdir", "os.chmod", "os.remove", "os.rmdir", "fcntl.flock", "shutil.rmtree"}

def killed_at(step, act):
    child = os.fork()
    if child == 0:
        left = [step]
        def hook(event, arguments):
            if event in TOUCH:
                left[0] -= 1
                if left[0] == 0:
                    os.kill(os.getpid(), signal.SIGKILL)
        sys.addaudithook(hook)
        act()
        os._exit(0)
    return os.waitpid(child, 0)[1] != 0
"""

OPEN_AT_EACH_STEP = """
from tradewind.trust.authority import Authority
step = 1
while True:
    folder = Path(sys.argv[1]) / str(step)
    dead = killed_at(step, lambda: Authority.open(folder).own(["a"]))
    one = Authority.open(folder)
    own = one.own(["b"])
    own.server_context(), own.client_context()
    assert one.fingerprint == Authority.open(folder).fingerprint
    assert own == Authority.open(folder).own(["b"])
    left = [path.name for path in folder.rglob("*") if "partial" in path.name or path.name == "next"]
    assert not left, left
    if not dead:
        break
    step += 1
print(step)
"""

RENEW_AT_EACH_STEP = """
from tradewind.trust.authority import Authority
from tradewind.trust.identity import Identity
authority = Authority.open(Path(sys.argv[1]) / "authority")

def renew(folder):
    _, csr = Identity.requested(folder, "ams")
    given = authority.certify(csr, "ams")
    return Identity.received(folder, "ams", given, authority.ca_pem, authority.verifying_key)

step, old, new = 1, 0, 0
while True:
    folder = Path(sys.argv[1]) / str(step)
    first = renew(folder).certificate.read_bytes()
    dead = killed_at(step, lambda: renew(folder))
    found = Identity.load(folder)
    assert found is not None
    found.client_context(), found.server_context()  # refuse a key that does not fit
    assert found.site == "ams" and found.verifying_key == authority.verifying_key
    old, new = (old + 1, new) if found.certificate.read_bytes() == first else (old, new + 1)
    renew(folder).client_context()
    assert not [path for path in folder.iterdir() if "partial" in path.name or path.name in ("next", "asked.pem")]
    if not dead:
        break
    step += 1
assert old > 5 and new > 5, (old, new)
print(step)
"""


@pytest.mark.slow
@pytest.mark.parametrize("script", [OPEN_AT_EACH_STEP, RENEW_AT_EACH_STEP], ids=["open", "renew"])
def test_a_kill_at_any_step_leaves_nothing_half_done(tmp_path: Path, script: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", STEPS + script, str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 10
