"""Certificates of sites are renewed in time, by nobody but the site itself, and for nothing else than it had."""

from __future__ import annotations

import json
import os
import signal
import socket
import ssl
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.backbone.servers import eventually, served
from tests.cluster.lines import at_work, joined
from tradewind.backbone.settings import Leaf, Neighbour, free_port
from tradewind.errors import DataError
from tradewind.runtime.cluster.members import Members
from tradewind.runtime.cluster.renewing import Renewal, renew_subject, renewed
from tradewind.trust.authority import Authority
from tradewind.trust.certificates import DAY, all_names, certificate
from tradewind.trust.errors import TrustError
from tradewind.trust.identity import Identity


def member(members: Members, site: str, folder: Path, hosts: tuple[str, ...] = ()) -> Identity:
    _, csr = Identity.requested(folder, site)
    _, pem = members.join(members.token(site, 60, hosts), csr)
    return Identity.received(folder, site, pem, members.authority.ca_pem, members.authority.verifying_key)


def serial(identity: Identity) -> int:
    return certificate(identity.certificate.read_bytes()).serial_number


@pytest.mark.slow
def test_a_site_outlives_its_first_certificate(coordinator, tmp_path):
    seconds, told = 15.0, []
    coordinator.members.days = seconds / DAY
    begin = time.time()
    with at_work(coordinator, "ams", tmp_path / "ams", renewed=lambda: told.append(time.time())) as agent:
        first, name = serial(agent.identity), agent.identity.name
        coordinator.members.days = 365.0
        agent.has(lambda: coordinator._desired.epoch)
        eventually("it is renewed", lambda: agent.look() >= 0 and bool(told), 60)
        assert told[0] - begin > seconds / 2
        again = Identity.load(agent.identity.folder)
        assert again is not None
        assert (again.name, again.verifying_key) == (name, agent.identity.verifying_key)
        assert serial(again) != first
        # Once the first one is over, and all have to show theirs anew:
        time.sleep(max(0.0, begin + seconds + 1.5 - time.time()))
        os.kill(coordinator._server.server.pid, signal.SIGKILL)
        coordinator._want()
        agent.has(lambda: coordinator._desired.epoch)
        assert len(told) == 1
        assert agent.said == []


def test_it_is_asked_when_a_third_is_left_and_not_too_often(tmp_path):
    members = Members(tmp_path / "trust")
    identity = member(members, "ams", tmp_path / "ams")
    end = identity.expires()
    begin = end - 365 * DAY + 60.0
    times: list[float] = []
    renewal = Renewal(identity, lambda: times[-1])
    for day in range(365):
        for hour in range(24):
            times.append(begin + day * DAY + hour * 3600.0)
            asked = renewal.request()
            assert (asked is not None) == (end - times[-1] < 365 * DAY / 3)
            if asked is not None:
                times.append(times[-1] + 1.0)
                assert renewal.request() is None
                return
    raise AssertionError("never asked")


def test_a_new_certificate_is_for_the_same_site_and_hosts(tmp_path):
    members = Members(tmp_path / "trust")
    hosts = ("10.0.0.7", "edge-1.example.org", "::1")
    identity = member(members, "ams", tmp_path / "ams", hosts)
    before = certificate(identity.certificate.read_bytes())
    _, csr = Identity.requested(identity.folder, "ams")
    after = certificate(members.renew("ams", csr, identity.certificate.read_bytes()))
    assert all_names(after) == all_names(before)
    assert after.public_key() != before.public_key()


def test_what_is_not_the_senders_own_is_not_renewed(tmp_path):
    members = Members(tmp_path / "trust")
    ams, hq = (member(members, site, tmp_path / site) for site in ("ams", "hq"))
    other = Members(tmp_path / "other")
    foreign = member(other, "ams", tmp_path / "foreign")
    _, csr = Identity.requested(tmp_path / "new", "ams")
    late = Authority.open(tmp_path / "trust", clock=lambda: time.time() - 400 * DAY)
    over = late.certify(csr, "ams")
    for shown in (
        hq.certificate.read_bytes(),
        foreign.certificate.read_bytes(),
        members.own.certificate.read_bytes(),
        members.authority.ca_pem,
        over,
        b"garbage",
    ):
        with pytest.raises(TrustError):
            members.renew("ams", csr, shown)
    assert members.renew("ams", csr, ams.certificate.read_bytes())
    # What it had before it was shut out is of no use once it is back.
    members.revoke("ams")
    member(members, "ams", tmp_path / "back")
    with pytest.raises(TrustError):
        members.renew("ams", csr, ams.certificate.read_bytes())


def test_a_member_gets_no_certificate_of_another(coordinator, tmp_path):
    """Neither by saying that it is another, nor by showing another's certificate in its own name."""
    joined(coordinator, "hq", tmp_path / "hq")
    with at_work(coordinator, "ams", tmp_path / "ams") as agent:
        agent.has(lambda: coordinator._desired.epoch)
        _, csr = Identity.requested(tmp_path / "new", "hq")
        theirs = Identity.load(tmp_path / "hq")
        assert theirs is not None
        wish = json.dumps({"csr": csr.decode(), "certificate": theirs.certificate.read_text()}).encode()
        refused, before = coordinator.registry.refused, serial(agent.identity)
        for subject in (renew_subject("hq"), renew_subject("ams")):
            agent.line.connection().publish(subject, wish)
        for garbage in (b"", b"{}", b'{"csr": 1, "certificate": 2}', b"[" * 9999):
            agent.line.connection().publish(renew_subject("ams"), garbage)
        eventually("they are counted", lambda: coordinator.registry.refused == refused + 5)
        assert serial(agent.identity) == before
        # Nor is a certificate taken that nobody asked for.
        order = {"kind": "certificate", "key": "x", "certificate": theirs.certificate.read_text()}
        coordinator._wired.publish("tw.order.ams", json.dumps(order).encode())
        time.sleep(0.5)
        assert serial(agent.identity) == before


@given(st.binary() | st.recursive(st.none() | st.text(), st.lists).map(lambda one: json.dumps(one).encode()))
def test_anything_else_is_no_request(payload):
    with pytest.raises(DataError):
        renewed("ams", payload, lambda *_: pytest.fail("nothing is to be certified"))


def test_a_sites_server_shows_the_new_certificate(tmp_path):
    members = Members(tmp_path / "trust")
    identity, far = (member(members, site, tmp_path / site) for site in ("ams", "hq"))
    port = free_port()
    leaf = Leaf(
        "ams", ("127.0.0.1", port), identity.certificate, identity.key, identity.ca, (Neighbour("hq", far.name),)
    )

    def shown() -> int:
        context = far.client_context()
        with (
            socket.create_connection(("127.0.0.1", port), timeout=5) as plain,
            context.wrap_socket(plain, server_hostname=identity.name) as secured,
        ):
            return certificate(
                ssl.DER_cert_to_PEM_cert(secured.getpeercert(binary_form=True) or b"").encode()
            ).serial_number

    with served(tmp_path / "server", leaf=leaf) as server:
        assert shown() == serial(identity)
        before = serial(identity)
        _, csr = Identity.requested(identity.folder, "ams")
        pem = members.renew("ams", csr, identity.certificate.read_bytes())
        Renewal(identity).take({"certificate": pem.decode()})
        server.renew()
        assert shown() == serial(identity) != before
        assert server.restarts == 0
