"""The handout: one HTML file of a photo and a model that opens anywhere, needs no network and no script, and prints well.

Pictures are embedded, words around them are text; what a reader needs to make it again is on its last page: settings,
the model's card and the digest of its weights, the photo's digest and credits, versions, the command and the address.
"""

from collections.abc import Sequence
from typing import Any

from vitcore.figures.theme_colours import gradient_stops
from vitcore.forward.recording import Recording
from vitcore.images import photo_with_crop_outlined
from vitcore.models.load_model import Vit
from vitcore.report import html_page
from vitcore.report.gallery_and_imagenet_names import imagenet_name_sentence, sample_photo_entry
from vitcore.report.model_facts import ModelFacts, collect_model_facts
from vitcore.report.report_numbers import current_time_text, masked_outlier_patches, package_versions, report_numbers, rollout_map
from vitcore.report.report_pictures import ReportPicture, model_pictures, photo_pictures
from vitcore.report.report_settings import DEFAULT_SETTINGS, ReportOrigin, ReportSettings, query_token_words, report_command
from vitcore.translation import percent, say

# Pictures that take both columns
WIDE = dict.fromkeys(("layers", "heads", "pinned"), "whole")
WIDE |= dict.fromkeys(("attention", "distance", "switched", "deletion"), "whole beside")
HANDOUT_SOURCES = (
    "Dosovitskiy et al., An Image is Worth 16×16 Words, ICLR 2021. arXiv 2010.11929: Fig. 1, 6, 7, App. D.7, D.8",
    "Abnar & Zuidema, Quantifying Attention Flow in Transformers, ACL 2020. arXiv 2005.00928",
)


def handout(
    vit: Vit, rec: Recording, settings: ReportSettings = DEFAULT_SETTINGS, origin: ReportOrigin | None = None,
    model_facts: ModelFacts | None = None, more: Sequence[ReportPicture] = (),
) -> bytes:  # fmt: skip
    """The handout as the bytes of a self-contained HTML file; `rec` holds the fusion and the layer's maps asked for.

    `model_facts` is `look_at(vit)`, for callers that have it already; `more` are pictures of what the answer rests on.
    Raises: ValueError, for settings the model can't have.
    """
    settings = settings.fit_to_model(rec.grid, vit.blocks, vit.heads)
    origin, model_facts = origin or ReportOrigin(), model_facts or collect_model_facts(vit)
    shown = {one.name: one for one in (*photo_pictures(vit, rec, settings), *model_pictures(vit, model_facts, settings))}
    return html_page.render_html(
        "handout.html", lang=origin.lang, title=recording_title(rec, origin), lead=_lead(vit, rec),
        photo=_photo(rec, recording_title(rec, origin)), model_input=_input(rec), top=rec.top_classes(translated=True),
        answer=_answer(rec),
        five=[(shown[name], _shown(shown[name])) for name in ("patches", "filters", "positions", "rollout", "distance")],
        inner=[(shown[name], _shown(shown[name])) for name in ("layers", "attention", "heads", "pinned") if name in shown],
        causes=[(one, _shown(one)) for one in more], distances=_distances(vit, rec), rollout=_rollout(rec, settings),
        settings=_settings(vit, rec, settings), model=_card(vit, rec, model_facts), credits=_credits(rec, origin),
        versions=[*package_versions().items(), (say("Made"), origin.made or current_time_text())], origin=origin,
        sources=HANDOUT_SOURCES, command=report_command(origin.file or rec.photo.name, vit.display_name, settings),
        numbers=report_numbers(vit, rec, settings, model_facts),
    )  # fmt: skip


def recording_title(rec: Recording, origin: ReportOrigin) -> str:
    """What the photo is called: its title in the gallery, else its file's name."""
    return say(origin.credit["title"]) if origin.credit.get("title") else rec.photo.name


def _lead(vit: Vit, rec: Recording) -> str:
    top = rec.top_classes(1, translated=True)
    lead = say("seen by {model}: {rows} × {cols} patches, {blocks} {blocks:layer|layers} of "
               "{heads} {heads:head|heads}", model=vit.card.title,
               rows=rec.grid.rows, cols=rec.grid.cols, blocks=vit.blocks, heads=vit.heads)  # fmt: skip
    return lead + say(". Its prediction: {label}, {share}", label=top[0][0], share=percent(top[0][1])) if top else lead


def _photo(rec: Recording, title: str) -> dict[str, Any]:
    alt = say("The photo {name}; what the model does not see is dimmed", name=title)
    wide, high = rec.photo.image.size
    about = say("{wide} × {high} px; the model sees the outlined part", wide=wide, high=high)
    drawn = html_page.embed_image(photo_with_crop_outlined(rec.photo, rec.model_input), alt, True, 800, "fitted")
    return {"about": about, "image": drawn, "notes": rec.photo.notes}


def _input(rec: Recording) -> dict[str, Any]:
    high, wide = rec.grid.image_px
    drawn = html_page.embed_image(rec.model_input.pixels, say("The model's input"), False, kind="seen")
    return {"about": say("{wide} × {high} px", wide=wide, high=high), "image": drawn}


def _answer(rec: Recording) -> str:
    if not rec.top_classes():
        return say("This model has no classes: it gives {count} {count:feature|features}, not a prediction.", count=len(rec.logits))
    over = (
        say("softmax over all {count} {count:class|classes}", count=len(rec.logits))
        if rec.output == "softmax"
        else say("each of {count} {count:class|classes} has its own probability (sigmoid)", count=len(rec.logits))
    )
    named = imagenet_name_sentence(sample_photo_entry(rec.photo), [label for label, _ in rec.top_classes(translated=True)])
    return f"{over}. {named}" if named else over


def _shown(one: ReportPicture) -> dict[str, Any]:
    """A picture as the page shows it: pixels and SVG embedded, the colours of its scale."""
    drawn, tiles = None, []
    if one.chart and one.figure:
        drawn = html_page.embed_figure(one.figure("light"), one.alt)
    else:
        tiles = [
            (name, html_page.embed_image(pixels, f"{one.alt}: {name}" if name else one.alt, one.photo))
            for name, pixels in one.tiles
        ]
    colours = gradient_stops(one.scale.colours, 16) if one.scale else []
    return {"kind": WIDE.get(one.name), "drawing": drawn, "tiles": tiles, "stops": colours}


def _distances(vit: Vit, rec: Recording) -> dict[str, Any]:
    heads = [say("head {head}", head=head) for head in range(vit.heads)]
    rows = [[str(block), *(f"{px:.1f}" for px in line)] for block, line in enumerate(rec.distance_px)]
    return {"head": [say("layer"), *heads], "rows": rows}


def _rollout(rec: Recording, settings: ReportSettings) -> dict[str, Any]:
    about = say(
        "Rollout of every patch, % of the total, {rows} {rows:row|rows} and {cols} {cols:column|columns}",
        rows=rec.grid.rows,
        cols=rec.grid.cols,
    )
    rows = [[str(r), *(f"{share:.3f}" for share in line)] for r, line in enumerate(100 * rollout_map(rec, settings))]
    return {"about": about, "head": [say("row"), *map(str, range(rec.grid.cols))], "rows": rows}


def _settings(vit: Vit, rec: Recording, settings: ReportSettings) -> list[tuple[str, str]]:
    given = {
        say("Starting token"): query_token_words(vit, settings),
        say("Heads fused by"): {"mean": say("mean"), "max": say("maximum"), "min": say("minimum")}[settings.fusion],
        say("Weakest weights discarded"): percent(settings.discard, 0),
        say("Residual weight"): percent(settings.residual, 0),
        say("First layer"): str(settings.first_block),
        say("Class token in distances"): say("dropped, not renormalised, as in the paper"),
    }
    if settings.layer is not None:
        given[say("Layer of the heads")] = str(settings.layer)
    if settings.head is not None:
        given[say("Head on the photo")] = str(settings.head)
    if settings.mask_outliers:
        patches = ", ".join(map(str, masked_outlier_patches(rec, settings)))
        given[say("Outlier tokens masked")] = say("patches {patches}", patches=patches) if patches else say("none here")
    return list(given.items())


def _card(vit: Vit, rec: Recording, side: ModelFacts) -> list[tuple[str, str]]:
    grid = rec.grid
    high, wide = grid.step_px
    tokens = say("{tokens} tokens: {prefix} before {patches} {patches:patch|patches}", tokens=grid.tokens, prefix=grid.prefix,
                 patches=grid.patches)  # fmt: skip
    given = {
        say("Title"): vit.card.title, say("Name"): vit.display_name,
        say("Parameters"): f"{side.params:,}".replace(",", " "), say("Licence"): vit.card.licence,
        say("Grid"): say("{rows} × {cols} patches of {high} × {wide} px", rows=grid.rows, cols=grid.cols, high=high, wide=wide),
        say("Sequence"): tokens, say("Layers × heads"): f"{vit.blocks} × {vit.heads}",
        say("Output read from"): query_token_words(vit, DEFAULT_SETTINGS), say("Weights, SHA-256"): side.digest,
    }  # fmt: skip
    if vit.assumed:
        given[say("Assumed, not proven")] = ", ".join(f"{key}={value}" for key, value in vit.assumed.items())
    return list(given.items())


def _credits(rec: Recording, origin: ReportOrigin) -> list[tuple[str, ...]]:
    credit = origin.credit
    licence = credit.get("licence_url", "")
    return [
        (say("Title"), say(credit["title"]) if credit.get("title") else ""),
        (say("File"), rec.photo.name), (say("Author"), credit.get("author", "")),
        (say("Licence"), credit.get("licence", ""), licence if licence.startswith("https://") else ""),
        (say("Source"), credit.get("source", "")), (say("Changes"), credit.get("changes", "")),
        (say("File, SHA-256 (first 16 digits)"), rec.photo.digest),
    ]  # fmt: skip
