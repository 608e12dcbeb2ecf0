"""Who guesses too often has to wait."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable
from ipaddress import ip_address, ip_network


class Failures:
    """Remembers the last failures of each address: after so many within a time, it waits that time from the last.

    What is remembered is bounded, too; of too many addresses, those that failed longest ago are forgotten.
    """

    def __init__(
        self, clock: Callable[[], float], *, allowed: int = 20, within: float = 60.0, addresses: int = 4096
    ) -> None:
        self._clock = clock
        self._allowed = allowed
        self._within = within
        self._addresses = addresses
        self._times: OrderedDict[str, deque[float]] = OrderedDict()

    def wait(self, address: str) -> float:
        """For how many seconds an address still has to wait; 0 if it may try."""
        times = self._times.get(neighbourhood(address))
        if times is None or len(times) < self._allowed or times[-1] - times[0] >= self._within:
            return 0.0
        return max(0.0, times[-1] + self._within - self._clock())

    def note(self, address: str) -> None:
        """An address failed just now."""
        whose = neighbourhood(address)
        times = self._times.setdefault(whose, deque(maxlen=self._allowed))
        times.append(self._clock())
        self._times.move_to_end(whose)
        if len(self._times) > self._addresses:
            self._times.popitem(last=False)


def neighbourhood(address: str) -> str:
    """Addresses that one guesser can have: an IPv4 address, or the whole network that an IPv6 host picks from.

    >>> neighbourhood("192.0.2.7"), neighbourhood("2001:db8::7"), neighbourhood("::ffff:192.0.2.7"), neighbourhood("")
    ('192.0.2.7', '2001:db8::/64', '192.0.2.7', '')
    """
    try:
        ip = ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if ip.version == 4:
        return str(ip)
    return str(ip.ipv4_mapped) if ip.ipv4_mapped else str(ip_network((ip, 64), strict=False))
