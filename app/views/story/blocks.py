"""Steps 7 to 9 of the story: inside one block, block after block, and the answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import streamlit as st

from app import texts
from app.components.depth.depth import depth
from app.components.picture.picture import picture
from app.components.vectors.vectors import looks, vector, vectors
from app.furniture import controls, guess, outliers, photo_names
from app.state import insights
from app.views.story.step import Scene, Step, chart
from app.views.story.tokens import in_a_sentence, named
from vitcore.translation import percent

if TYPE_CHECKING:
    from numpy.typing import NDArray

LOOKS = 5  # tokens shown of those that are attended to most
STREAM = "z_{%s}"


def _other(scene: Scene) -> str:
    return " other" if scene.inside is None else ""


def _most(scene: Scene, weights: NDArray) -> list[int]:
    """The others that the pinned token attends to most by its weights (T,); its own share is asked for."""
    order = [int(t) for t in (-weights).argsort()[: LOOKS + 1]]
    return [t for t in order if t != scene.token][:LOOKS]


def _attended(scene: Scene) -> None:
    """The photo lit by what the chosen head attends to; masked outlier tokens are left out of it, not of the numbers beside it."""
    from vitcore.analysis.outlier_tokens import mask_keys
    from vitcore.figures.heat_overlay import cells, scale_on_photo, scale_top
    from vitcore.figures.theme import data_uri

    grid = scene.rec.grid
    if scene.inside is None:
        return
    row = scene.inside.weights[scene.head]
    if outliers.masks(scene.vit, scene.rec):
        row = mask_keys(row, insights.outliers(scene.rec).tokens)
    weights, most = row[grid.prefix :], [t - grid.prefix for t in _most(scene, row) if t >= grid.prefix]
    found = outliers.in_map(scene.vit, scene.rec, weights)
    even, unit = 1 / grid.tokens, scene.text["attended unit"]
    top = scale_top(weights, even)
    shares: list[float | None] = [100 * share for share in weights.tolist()]
    if not guess.is_made("block"):
        shares[scene.patch] = None  # what it keeps for itself is asked beside the picture
    st.markdown(f"##### {scene.say('attended title')}")
    picture(
        scene.address, grid.rows, grid.cols, grid.step_px, key="story_attended", label=scene.say("attended title"),
        target="patch", selected=scene.patch, overlay=data_uri(cells(grid.to_map(weights), top)), detail=scene.detail,
        lines=False, values=shares, unit=unit, even=100 * even, strongest=most,
        marks=found.patches, told=found.told,
    )  # fmt: skip
    controls.bar(scale_on_photo(100 * weights, 100 * top, unit, even=100 * even), "story_attended_scale")
    more = texts.prose("outliers")["numbers unmasked"] if found.masked else ""
    outliers.beside(found._replace(told=scene.text.joined((found.told, more))), "attended")


def _block(scene: Scene) -> None:
    if scene.inside is None:
        st.info(scene.text["other blocks"])
        return
    st.markdown(f"##### {scene.say('block title')}")
    vectors(_attention_rows(scene) + _mlp_rows(scene), key="story_block", label=scene.say("block title"))


def _attention_rows(scene: Scene) -> list[dict[str, Any]]:
    x, h, text = scene.inside, scene.head, scene.text
    before, mid = STREAM % (scene.layer), STREAM.replace("z", "z′") % (scene.layer + 1)
    width, narrow = (scene.say("of many", count=n) for n in (x.x_in.size, x.q.shape[1]))
    return [
        vector(text["enters"], before, x.x_in, kind="stream", sign="", unit=width),
        vector(text["normed"], rf"\rm{{LN}}({before})", x.normed, kind="branch start", unit=width),
        vector(text["query"], r"q = \rm{LN}(z) W_{q}", x.q[h], unit=narrow),
        vector(text["key"], r"k = \rm{LN}(z) W_{k}", x.k[h], unit=narrow),
        vector(text["value"], r"v = \rm{LN}(z) W_{v}", x.v[h], unit=narrow),
        looks(text["weights"], r"A = \rm{softmax}(q Kᵀ / √d)", _shown(scene),
              scene.say("most of many", shown=LOOKS, count=x.weights.shape[1])),
        vector(text["gathered"], r"A V", x.heads[h], unit=narrow),
        vector(text["attended"], r"\rm{MSA} = [A_{1}V_{1}; …] W", x.attended, unit=width),
        vector(text["first sum"], rf"{mid} = \rm{{MSA}}(\rm{{LN}}(z)) + z", x.after_attention, kind="sum", sign="+", unit=width),
    ]  # fmt: skip


def _mlp_rows(scene: Scene) -> list[dict[str, Any]]:
    x, text = scene.inside, scene.text
    mid, after = STREAM.replace("z", "z′") % (scene.layer + 1), STREAM % (scene.layer + 1)
    width = scene.say("of many", count=x.x_in.size)
    bend = r"\rm{GELU}" if "GELU" in type(getattr(scene.vit.module.blocks[x.block].mlp, "act", x)).__name__ else "σ"
    rows = [vector(text["normed"], rf"\rm{{LN}}({mid})", x.normed2, kind="branch start", unit=width)]
    if x.hidden.size:
        rows.append(
            vector(text["hidden"], rf"{bend}(… W_{{1}})", x.hidden, unit=scene.say("of many", count=x.hidden.size))
        )
    return [
        *rows,
        vector(text["mlp"], rf"\rm{{MLP}} = {bend}(… W_{{1}}) W_{{2}}", x.mlp, unit=width),
        vector(text["second sum"], rf"{after} = \rm{{MLP}}(\rm{{LN}}(z′)) + z′", x.x_out, kind="sum", sign="+", unit=width),
    ]  # fmt: skip


def _shown(scene: Scene) -> list[dict[str, str]]:
    """The tokens attended to most: a picture or a letter, the weight, and the score it came from."""
    from vitcore.figures.theme import data_uri
    from vitcore.forward.block_activations import prefix_token_names

    prefix, shown = scene.rec.grid.prefix, []
    for token in _most(scene, scene.inside.weights[scene.head]):
        weight = percent(float(scene.inside.weights[scene.head, token]))
        if token < prefix:
            name = named(scene, prefix_token_names(scene.vit)[token])
            shown.append({"sign": name[0].upper(), "weight": weight, "name": name})
        else:
            image = data_uri(scene.cuts[token - prefix])
            shown.append({"image": image, "weight": weight, "name": str(token - prefix)})
    return shown


def _itself(scene: Scene) -> tuple[dict[str, Any], int]:
    if scene.inside is None:
        return {}, 1
    weights = scene.inside.weights[scene.head]
    own, even = float(weights[scene.token]), 1 / weights.size
    most = int(weights.argmax())
    who = scene.say("patch named", other=most - scene.rec.grid.prefix)
    if most < scene.rec.grid.prefix:
        from vitcore.forward.block_activations import prefix_token_names

        who = in_a_sentence(scene, prefix_token_names(scene.vit)[most])
    right = 0 if own >= 0.5 else 1 if own > even else 2
    times = f"{own / even:.{0 if own >= 10 * even else 1}f}"
    beside = scene.say("more than even" if own > even else "less than even", times=times, even=percent(even))
    return {"own": percent(own), "beside": beside, "who": who, "most": percent(float(weights[most]))}, right


def _depth(scene: Scene) -> None:
    from vitcore.outlier_sentences import outlier_sentence

    share = insights.answers_by_depth(scene.rec, scene.vit)
    tiles, known, marked = [], guess.is_made("depth"), set[int]()
    read = outliers.read(scene.vit, scene.rec)
    for block, (image, marks) in enumerate(insights.lit_by_depth(read)):
        marked |= {*marks}
        words = ""
        if share is not None and known:
            best = int(share[block + 1].argmax())
            words = f"{scene.vit.labels[best]} {100 * share[block + 1, best]:.0f}\u00a0%"
        name = scene.say("layer named", number=block)
        tiles.append(
            {
                "image": image,
                "name": name,
                "words": words,
                "alt": scene.text.joined(
                    (scene.say("depth alt", number=block), outlier_sentence(marks, scene.rec.grid))
                ),
            }
        )
    st.markdown(f"##### {scene.say('depth title')}")
    depth(tiles, key="story_depth", label=scene.say("depth title"))
    count = len(insights.outliers(scene.rec).patches)
    outliers.beside(outliers.of_grid(sorted(marked), count, scene.rec.grid), "depth")
    if known:
        _lens(scene)


def _answered_by_hand(scene: Scene) -> None:
    """For who opens the answer without a guess, in it."""
    if not guess.is_made("depth"):
        _lens(scene)


def _lens(scene: Scene) -> None:
    share = insights.answers_by_depth(scene.rec, scene.vit)
    if share is not None:
        from vitcore.figures.story_steps import lens

        chart(lens(share, scene.vit.labels, scene.mode, output=scene.vit.output), "story_lens", scene.text["lens alt"])


def _headless(scene: Scene) -> str:
    return "" if scene.vit.labels else " headless"


def _leads(scene: Scene) -> tuple[dict[str, Any], int]:
    share = insights.answers_by_depth(scene.rec, scene.vit)
    if share is None:
        return {}, 0
    best, blocks = share.argmax(1), scene.vit.blocks
    since = next(d for d in range(blocks + 1) if (best[d:] == best[-1]).all())
    first = int(best[0])
    pictured = scene.text["pictured"].format(layer=since - 1) if since else ""  # the pictures count layers from 0
    facts = {
        "label": controls.verbatim(scene.vit.labels[best[-1]]),
        "since": since,
        "first": controls.verbatim(scene.vit.labels[first]),
        "pictured": pictured,
    }
    return facts, 0 if since <= 1 else 1 if since <= blocks - 2 else 2


def _answer(scene: Scene) -> None:
    if scene.vit.labels:
        from vitcore.figures.story_steps import answer

        rec = scene.rec
        drawn = answer(rec.logits, rec.probabilities, rec.labels, scene.mode, output=rec.output)
        chart(drawn, "story_answer", scene.text["answer alt"])
        photo_names.by_imagenet([label for label, _ in scene.rec.top_classes()])
        return
    row = vector(
        scene.text["pooled"], "y", scene.rec.logits, unit=scene.say("of many", count=scene.rec.logits.size), sign=""
    )
    vectors([row], key="story_pooled", label=scene.text["pooled"], flat=True)


def _likelier(scene: Scene) -> tuple[dict[str, Any], int]:
    if len(scene.vit.labels) < 2:
        return {}, 1
    import math

    second, first = sorted(scene.rec.logits.tolist())[-2:]
    times = math.exp(gap := round(first - second, 2))  # of the gap as it is shown, so that anybody may check it
    return {"gap": gap, "times": f"{float(f'{times:.3g}'):,.{max(0, 2 - int(math.log10(times)))}f}"}, 1


def _read(scene: Scene) -> str:
    if not scene.vit.labels:
        return " headless"
    if scene.vit.output == "sigmoid":
        return " independent"
    return {"class token": "", "class and distillation tokens": " distilled"}.get(scene.vit.readout, " pooled")


def _equations(_: Scene) -> str:
    return (
        r"z'_\ell = \mathrm{MSA}(\mathrm{LN}(z_{\ell-1})) + z_{\ell-1} \quad (2)"
        "\n"
        r"z_\ell = \mathrm{MLP}(\mathrm{LN}(z'_\ell)) + z'_\ell \quad (3)"
    )


def _readout(scene: Scene) -> str:
    if scene.vit.readout == "class token":
        return r"y_\ell = \mathrm{LN}(z_\ell^0), \quad \ell = 0 \dots L" + "\n" + r"y = y_L \quad (4)"
    return r"y_\ell = \mathrm{pool}(\mathrm{LN}(z_\ell)), \quad \ell = 0 \dots L"


def _softmax(scene: Scene) -> str:
    if scene.vit.output == "sigmoid":
        return r"p_i = \frac{1}{1 + e^{-y_i}}"
    if scene.vit.labels:
        return r"p_i = \frac{e^{\,y_i}}{\sum_j e^{\,y_j}}"
    return rf"y \in \mathbb{{R}}^{{{scene.rec.logits.size}}}"


STEPS = (
    Step("block", _equations, _block, _itself, _other, _attended),
    Step("depth", _readout, _depth, _leads, _headless, shown_after=_answered_by_hand),
    Step("answer", _softmax, _answer, _likelier, _read),
)
