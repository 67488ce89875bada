"""Percentages that a person compares: what differs reads differently."""

import pytest

from vitcore.translation import percents


@pytest.mark.parametrize(("shares", "written"), [
    ((0.9993, 0.9998), ["99.93 %", "99.98 %"]), ((0.0001, 0.0002), ["0.01 %", "0.02 %"]), ((0.5, 0.7), ["50.0 %", "70.0 %"]),
    ((0.99995, 0.2), ["99.995 %", "20.000 %"]), ((0.7, 0.7), ["70.0 %", "70.0 %"]), ((0.9999, 1.0), ["99.99 %", "100.00 %"]),
    ((0.7 + 1e-9, 0.7), ["70.0 %", "70.0 %"]),
])  # fmt: skip
def test_shares_that_differ_read_differently(shares, written):
    assert percents(*shares) == written
