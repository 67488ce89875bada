"""A poll in a lecture: phones open the link of the QR code and vote for a patch; the lecturer sees the votes beside rollout."""

import re

import numpy as np
import pytest
from playwright.sync_api import expect
from wait_and_look import at_rest, in_both, resize, serious, too_wide

from app.server import poll_store


def tap(phone, patch: int, cols: int = 16) -> None:
    """Touch the middle of a patch of the ballot."""
    ballot = phone.locator(".st-key-vote canvas")
    ballot.scroll_into_view_if_needed()
    box = ballot.bounding_box()
    side = box["width"] / cols
    phone.touchscreen.tap(box["x"] + (patch % cols + 0.5) * side, box["y"] + (patch // cols + 0.5) * side)


def test_phones_vote_by_link_and_the_lecturer_sees_their_patches(visit, server, home, rec, monkeypatch):
    monkeypatch.setenv("INSIDE_VIT_POLLS", str(home))  # where the server keeps them
    lecturer = visit("live")
    lecturer.locator(".st-key-to_poll button").click()
    lecturer.get_by_role("button", name="Open a poll").click()
    own = lecturer.locator(".st-key-own_poll")
    code = own.get_by_role("heading", level=2).inner_text()
    expect(own.get_by_role("heading", level=2)).to_be_in_viewport()
    expect(lecturer.locator(".st-key-live")).to_have_count(0)  # it shows rollout, the answer
    expect(own).to_contain_text("0 votes")
    expect(own).to_contain_text(f"/live?poll={code}")
    expect(own).to_contain_text("Phones can't open")  # the address is this computer's own
    assert own.get_by_role("img", name=re.compile("QR code")).evaluate("image => image.naturalWidth") > 0
    phones = [visit(f"live?poll={code}", 390, 844, has_touch=True) for _ in range(2)]
    for phone, patch in zip(phones, (137, 20), strict=True):
        expect(phone.locator(".st-key-vote")).to_contain_text("Which patch mattered most?")
        at_rest(phone)
        tap(phone, patch)
        ballot = phone.locator(".st-key-vote canvas")
        before = ballot.bounding_box()
        expect(phone.locator(".st-key-vote")).to_contain_text(f"Your vote: patch {patch} ")
        assert ballot.bounding_box() == before, "the same place is the same patch"
        expect(phone.locator(".st-key-live")).to_have_count(0)
        assert too_wide(phone) <= 1
    tap(phones[1], 137)
    expect(phones[1].locator(".st-key-vote")).to_contain_text("Your vote: patch 137 ")
    assert serious(at_rest(phones[0]), theme="light") == []
    expect(own).to_contain_text("2 votes")
    expect(own.locator(".js-plotly-plot")).to_have_count(0)  # nobody sees what others chose before the lecturer shows it
    own.get_by_text("Show votes").click()
    times = rec.rollout().ravel() / rec.grid.even_share
    for row in (
        f"patch 137 · votes 2 · rollout {times[137]:.1f}×",
        f"patch {times.argmax()} · votes 0 · rollout {times.max():.1f}×",
    ):
        expect(own.locator(".js-plotly-plot")).to_contain_text(row)
    for theme in in_both(lecturer):
        assert serious(at_rest(lecturer), theme=theme) == []
    assert too_wide(resize(lecturer, 390, 844)) <= 1
    poll = poll_store.find_poll(code)
    assert np.flatnonzero(poll_store.count_votes(poll)).tolist() == [137]
    own.get_by_role("button", name="Close the vote").click()
    expect(own).to_contain_text("closed")
    tap(phones[0], 3)
    expect(phones[0].locator(".st-key-vote")).to_contain_text("takes no more votes")
    expect(phones[0].locator(".st-key-vote")).to_contain_text("Your vote: patch 137 ")
    own.get_by_role("button", name="End the poll").click()
    expect(own).to_have_count(0)
    with pytest.raises(poll_store.PollError):
        poll_store.find_poll(code)
