"""What is said of rollout that depends on the model: where the rest of 100 % is, and how well it finds the object."""

from __future__ import annotations

from app.furniture import model_card
from app.views.rollout.question import Asked


def before(a: Asked) -> str:
    """Which tokens stand before the patches: "class" alone, "some", or none."""
    from vitcore.forward.block_activations import prefix_token_names

    names = prefix_token_names(a.vit)
    return "class" if names == ("class",) else "some" if names else ""


def rest(a: Asked) -> str:
    """Who has what is missing to 100 %; empty where nothing is."""
    kind = before(a)
    return a.text[f"rest {kind}"] if kind else ""


def localised(a: Asked) -> str:
    """How well rollout finds the object, and on which model that was measured; empty where nothing is known."""
    found, text = model_card.localised(a.vit.name), a.text
    if found is None:
        return ""
    rollout, prior = found.rollout, found.middle  # in the digits of the card: rounded once more they could turn round
    verdict = "worse" if rollout < prior else "better" if rollout > prior else "alike"
    here = found.model == a.vit.name
    card = model_card.of_menu(found.model)
    model = text["this model"] if here else card.title if card else found.model
    return text.joined((
        text.fill("localised", photos=found.photos, model=model, rollout=f"{rollout:.3f}",
                  verdict=text[f"middle {verdict}"].format(prior=f"{prior:.3f}")),
        text["localised taught"].format(looker=card.looker) if here and card and card.looker else "",
        "" if here else text["localised elsewhere"],
    ))  # fmt: skip
