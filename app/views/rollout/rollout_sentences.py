"""What is said below rollout's pictures: who has the rest, how well it finds objects, and its place among the methods."""

from app.state.jobs import map_test_jobs
from app.texts import escape_markdown
from app.views.rollout.rollout_visit import RolloutVisit
from app.widgets import model_card_and_cautions


def prefix_text_key(visit: RolloutVisit) -> str:
    """Which tokens stand before the patches: "class" alone, "some", or none."""
    names = visit.prefix_names
    return "class" if names == ("class",) else "some" if names else ""


def prefix_tokens_hold_rest_sentence(visit: RolloutVisit) -> str:
    """Who has what is missing to 100 %; empty where nothing is."""
    kind = prefix_text_key(visit)
    return visit.texts[f"rest {kind}"] if kind else ""


def localisation_sentence(visit: RolloutVisit) -> str:
    """How well rollout finds the object, and on which model that was measured; empty where nothing is known."""
    score, text = model_card_and_cautions.localisation_score(visit.vit.name), visit.texts
    if score is None:
        return ""
    rollout, prior = (score.rollout_auc, score.centre_auc)  # in the digits of the card: rounded once more they could turn round
    verdict = "worse" if rollout < prior else "better" if rollout > prior else "alike"
    is_this_model = score.model == visit.vit.name
    card = model_card_and_cautions.card_by_name(score.model)
    model = text["this model"] if is_this_model else card.title if card else score.model
    return text.join_sentences((
        text.fill("localised", photos=score.photos, model=model, rollout=f"{rollout:.3f}",
                  verdict=text[f"middle {verdict}"].format(prior=f"{prior:.3f}")),
        text["localised taught"].format(looker=card.looker) if is_this_model and card and card.looker else "",
        "" if is_this_model else text["localised elsewhere"],
    ))  # fmt: skip


def best_map_sentence(visit: RolloutVisit) -> str:
    """Which map orders patches best over the gallery, and rollout's place where it is not the best; of which model."""
    best, rollout = map_test_jobs.ranking_sentences("removed", "rollout")
    text = visit.texts
    elsewhere = "" if map_test_jobs.has_shipped_tests(visit.vit) else text["tested elsewhere"]
    return text.join_sentences((escape_markdown(best), escape_markdown(rollout), elsewhere))
