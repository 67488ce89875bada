"""What is said of a verdict, on the page and in the shell: its name, the effect and its interval, the paper's size, and why."""

import math

from vitcore.experiments.experiment import LEARNING_RATE_SEED, Claim, Experiment
from vitcore.experiments.results_csv import ExperimentResults
from vitcore.experiments.verdict_statistics import (
    PLATEAU_POINTS,
    SAME_SIZE_FACTOR,
    VERDICT_INTERVAL_PERCENT,
    Judgement,
    is_at_plateau,
)
from vitcore.translation import decimal, say

CEILING_PERCENT = 95.0  # accuracy from which on that is said
VERDICT_NAMES = {
    "as large": "same direction, and as large", "other size": "same direction, other size", "same": "same direction",
    "opposite": "opposite", "open": "can't tell", "untestable": "not testable here",
}  # fmt: skip


def verdict_name(judgement: Judgement) -> str:
    """The name of a verdict."""
    return say(VERDICT_NAMES[judgement.verdict])


def effect_text(claim: Claim, judgement: Judgement) -> str:
    """The mean effect with its interval and unit; "" where there is none, or none that tells anything."""
    if judgement.verdict == "untestable" or not judgement.low < judgement.high < float("inf"):
        return ""
    digits = 2 if max(abs(judgement.low), abs(judgement.high)) >= 1 else 3  # so that what is not 0 does not look so
    ends = {name: decimal(getattr(judgement, name), digits, plus=not claim.is_ratio) for name in ("mean", "low", "high")}
    return say("{mean} {unit}; {sure} % interval {low} to {high}.", unit=say(claim.unit), sure=VERDICT_INTERVAL_PERCENT, **ends)


def paper_effect_text(claim: Claim) -> str:
    """How large the paper prints the effect."""
    if claim.kind == "near":
        return ""
    if not claim.paper:
        return say("The paper prints no size of this.")
    least, most = (f"{number:.3g}" for number in claim.paper)
    range_ = least if least == most else say("{least} to {most}", least=least, most=most)
    return say("The paper: {range} {unit} ({source}). As large: the interval lies within a factor of {factor} of that.",
               range=range_, unit=say(claim.unit), source=say(claim.source), factor=SAME_SIZE_FACTOR)  # fmt: skip


def open_reason_sentence(claim: Claim, judgement: Judgement, results: ExperimentResults) -> str:
    """Why there is no verdict, or none on the size; "" where nothing is to be said."""
    if judgement.verdict == "untestable" and not judgement.open_reason:
        return say(claim.quick)
    if judgement.verdict == "same" and claim.paper:
        return say("The interval is too wide to tell whether it is as large.")
    return {
        "seeds": say("Not all of the {count} {count:seed|seeds} are finished, so there is no verdict yet.",
            count=results.facts["seeds"]),
        "plateau": say("Not trained to its plateau: twice the steps change it by more than {most:g} points.", most=PLATEAU_POINTS),
        "noise": say("The seeds differ too much for the size of the effect."),
        "undefined": say("No accuracy is reached by both, so there is nothing to compare."), "": "",
    }[judgement.open_reason]  # fmt: skip


def ceiling_sentence(experiment: Experiment, results: ExperimentResults) -> str:
    """How near 100 % the compared accuracies are, where that leaves no room for a large effect; "" elsewhere."""
    from vitcore.experiments.catalogue import plateau_check_accuracies

    near = {at: value for at, value in plateau_check_accuracies(experiment, results).items() if value >= CEILING_PERCENT}
    if experiment.measure != "test_top1" or not near:
        return ""
    return say(
        "{names}: {least} % or more. So near 100 %, nothing can be much better.",
        names=" · ".join(f"{say(curve)}, {say(place)}" for curve, place in near),
        least=f"{math.floor(10 * min(near.values())) / 10:.1f}",
    )


def protocol_sentence(experiment: Experiment, results: ExperimentResults) -> str:
    """How many seeds, which interval, how rates were chosen, and what the check of the plateau found."""
    from vitcore.experiments.catalogue import plateau_gains

    overlap, seeds = results.facts["overlap"], results.facts["seeds"]
    said = [say("{count} {count:seed|seeds}, fixed beforehand.", count=seeds)]
    if overlap:
        said += [say("Seeds share their pictures, so Student's interval is corrected (Nadeau and Bengio 2003; {overlap:.2f} test "
            "pictures per training picture).", overlap=overlap)]  # fmt: skip
    else:
        said += [say("Each seed has its own pictures. The interval is Student's.")]
    if results.trials:
        said += [say("Learning rates were chosen on the validation pictures of seed {seed}. Results are on test pictures.",
                     seed=LEARNING_RATE_SEED)]  # fmt: skip
    gains = plateau_gains(experiment, results)
    for (curve, place), gain in gains.items():
        name = f"{say(curve)}, {say(place)}"
        said += [say("Twice the steps change {name} by {gain} points.", name=name, gain=decimal(gain, 1, plus=True))]
    if gains:
        said += [say("That is a plateau: at most {most:g} points.", most=PLATEAU_POINTS) if is_at_plateau(list(gains.values()))
                 else say("That is no plateau, which is at most {most:g} points.", most=PLATEAU_POINTS)]  # fmt: skip
    return " ".join(said)
