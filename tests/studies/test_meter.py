"""The meter of time and memory."""

from __future__ import annotations

import time

from netfold.studies.machine import Meter


def test_the_meter_sees_what_is_held_and_for_how_long() -> None:
    with Meter() as small:
        time.sleep(0.05)
    with Meter() as large:
        held = bytearray(b"x") * (64 << 20)
    assert 0.05 <= small.seconds < 5 and small.bytes < 32 << 20
    assert 60 << 20 <= large.bytes < 200 << 20
    del held
    with Meter() as again:  # a peak of before does not count
        pass
    assert again.bytes < 32 << 20
