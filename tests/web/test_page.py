"""The page in a real browser: it asks for the secret once, shows what runs, and follows it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.web.browser import PROGRAM, browsed
from tests.web.paper_desk import SECRET, PaperDesk, made
from tradewind.web.serving import Served

pytestmark = pytest.mark.skipif(PROGRAM is None, reason="chromium is not installed")
_TEXT = "document.body.innerText"
_SHOWN = ("cdn", "2 of 4", "late", "requests/sin", "410", "ams → hq", "cut off", "5.2 kB/s", "4.9 kB/s", "1.4 GB")


def test_the_page_shows_what_runs(tmp_path: Path) -> None:
    desk = PaperDesk()
    with Served.start(made(desk)) as served, browsed(tmp_path / "browser") as page:
        page.tell("Page.navigate", url=f"http://127.0.0.1:{served.port}/")
        page.until("document.readyState == 'complete' && !document.getElementById('door').hidden")
        page.picture(tmp_path / "door.png")
        for secret, then in (("wrong-secret-0123456789", "the secret is wrong"), (SECRET, "live")):
            page.value(f"document.getElementById('secret').value = '{secret}'")
            page.value("document.querySelector('#door button').click()")
            page.until(f"document.getElementById('live').textContent == '{then}'")
        shown = page.value(_TEXT)
        for word in (
            "cdn",
            "ams",
            "late",
            "requests/sin",
            "cut off",
            "410",
            "ams → hq",
            "5.2 kB/s",
            "4.9 kB/s",
            "2 of 4",
        ):
            assert word in shown, f"{word}: {shown}"
        page.value("document.querySelector('details').open = true")
        # Markup in a message is text.
        assert "<b>the disk is full</b>" in page.value(_TEXT)
        assert page.value("document.querySelectorAll('td b').length") == 0
        light, dark = page.picture(tmp_path / "light.png"), page.picture(tmp_path / "dark.png", "dark")
        assert light.startswith(b"\x89PNG")
        assert light != dark
        desk.change()
        page.until("document.querySelector('#facts li:nth-child(2) b').textContent == '4'")
        page.tell("Page.reload")
        page.until("document.getElementById('live') && document.getElementById('live').textContent == 'live'")
        page.value("document.getElementById('leave').click()")
        assert page.value("sessionStorage.length") == 0
        assert page.value("document.getElementById('shown').hidden")
        # The browser itself notes the one answer that refused the wrong secret.
        assert [one for one in page.complaints if "401" not in one] == []


def test_the_page_fits_a_narrow_screen_and_says_when_nothing_answers(tmp_path: Path) -> None:
    served = Served.start(made())
    try:
        with browsed(tmp_path / "browser") as page:
            page.tell("Emulation.setDeviceMetricsOverride", width=390, height=800, deviceScaleFactor=1, mobile=True)
            page.tell("Page.navigate", url=f"http://127.0.0.1:{served.port}/")
            page.until("document.readyState == 'complete' && !document.getElementById('door').hidden")
            page.value(f"document.getElementById('secret').value = '{SECRET}'")
            page.value("document.querySelector('#door button').click()")
            page.until("document.getElementById('live').textContent == 'live'")
            page.picture(tmp_path / "narrow.png")
            assert page.value("document.documentElement.scrollWidth <= 390")
            served.stop()
            page.until("document.getElementById('live').textContent.includes('next try')")
    finally:
        served.stop()
