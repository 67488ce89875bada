"""A room's votes drawn: the patches most voted for, each beside what the model's rollout gives it."""

from collections.abc import Sequence
from typing import NamedTuple

from vitcore.figures.drawing import Axis, Bars, Drawing, Label, Margin
from vitcore.figures.theme_colours import CATEGORICAL, Mode
from vitcore.translation import say

THICK = 0.22  # of a bar, in rows


class PatchVotes(NamedTuple):
    """A patch, its votes, and its rollout in times an even share; both also as shares (0 to 1) of the photo's largest."""

    patch: int
    votes: int
    times: float
    votes_share: float
    rollout_share: float


def poll_votes(rows: Sequence[PatchVotes], mode: Mode = "light") -> Drawing:
    """Two bars a patch, both in % of the largest on this photo: votes, and rollout from where the answer is read."""
    told = say("patch {patch}: {votes} votes, {times}× an even share of rollout")
    facts = [told.format(patch=one.patch, votes=one.votes, times=f"{one.times:.1f}") for one in rows]
    series = ((say("votes"), [100 * one.votes_share for one in rows]), (say("rollout"), [100 * one.rollout_share for one in rows]))
    bars = [
        Bars(x=shares, y=[i + place * THICK for i in range(len(rows))], thick=THICK, colour=CATEGORICAL[place], name=name,
             hover="%{hovertext}", hover_texts=facts)
        for place, (name, shares) in enumerate(series)
    ]  # fmt: skip
    written = say("patch {patch} · votes <b>{votes}</b> · rollout <b>{times}×</b>")
    labels = [
        Label(written.format(patch=one.patch, votes=one.votes, times=f"{one.times:.1f}"), 0, i - 0.32, 14, "text")
        for i, one in enumerate(rows)
    ]  # fmt: skip
    return Drawing(
        title=say("Votes for patches, beside the model's rollout"), mode=mode, height_px=150 + 52 * len(rows),
        marks=bars, labels=labels, legend="below", margin=Margin(left=12, right=24, below=96),
        x=Axis(title=say("% of the largest on this photo"), range=(0, 100), step=25),
        y=Axis(visible=False, range=(len(rows) - 0.4, -0.6)),
    )  # fmt: skip
