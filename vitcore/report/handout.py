"""The handout: one HTML file of a photo and a model that opens anywhere, needs no network and no script, and prints well.

Pictures are embedded, words around them are text; what a reader needs to make it again is on its last page: settings,
the model's card and the digest of its weights, the photo's digest and credits, versions, the command and the address.
"""

from collections.abc import Iterable
from html import escape

from vitcore.figures import print_figure
from vitcore.forward.recording import Recording
from vitcore.images import outlined
from vitcore.models.zoo import Vit
from vitcore.report import html
from vitcore.report.contents import mask, now, numbers
from vitcore.report.layout import header, page_of
from vitcore.report.model import ModelSide, look_at
from vitcore.report.pictures import Picture, asked, of_model, of_photo
from vitcore.report.settings import USUAL, Origin, Settings, command
from vitcore.translation import say

WIDE = {
    "layers": "whole",
    "heads": "whole",
    "pinned": "whole",
    "distance": "whole beside",
}  # pictures that take both columns
SOURCES = (
    "Dosovitskiy et al., An Image is Worth 16×16 Words, ICLR 2021. arXiv 2010.11929: Fig. 1, 6, 7, App. D.7, D.8",
    "Abnar & Zuidema, Quantifying Attention Flow in Transformers, ACL 2020. arXiv 2005.00928",
)


def handout(
    vit: Vit, rec: Recording, settings: Settings = USUAL, origin: Origin | None = None, side: ModelSide | None = None
) -> bytes:
    """The handout as the bytes of a self-contained HTML file; `rec` holds the last block's maps and the fusion asked for.

    `side` is `look_at(vit)`, for callers that have it already. Raises: ValueError, for settings the model can't have.
    """
    settings.check(rec.grid, vit.blocks)
    origin, side = origin or Origin(), side or look_at(vit)
    shown = {one.name: one for one in (*of_photo(vit, rec, settings), *of_model(vit, side, settings))}
    order = ("patches", "filters", "positions", "rollout", "distance")
    body = [
        _head(vit, rec, origin),
        _section(say("The photo and the answer"), [_photo(rec), html.tag("div", _seen(rec), _answer(rec))]),
        _section(say("The paper's five pictures"), [_figure(shown[name]) for name in order]),
        _section(
            say("Layer after layer, head after head"),
            [_figure(shown[name]) for name in ("layers", "heads", "pinned") if name in shown],
        ),
        _tables(vit, rec, settings),
        _made(vit, rec, settings, origin, side),
    ]
    return page_of(title_of(rec, origin), origin.lang, body, html.data("numbers", numbers(vit, rec, settings, side)))


def title_of(rec: Recording, origin: Origin) -> str:
    """What the photo is called: its title in the gallery, else its file's name."""
    return say(origin.credit["title"]) if origin.credit.get("title") else rec.photo.name


def _head(vit: Vit, rec: Recording, origin: Origin) -> str:
    top = rec.top(1)
    lead = say("seen by {model}: {rows} × {cols} patches, {blocks} layers of {heads} heads", model=vit.card.title,
               rows=rec.grid.rows, cols=rec.grid.cols, blocks=vit.blocks, heads=vit.heads)  # fmt: skip
    if top:
        lead += say(". Its answer: {label}, {share}", label=top[0][0], share=f"{top[0][1]:.0%}")
    return header(say("Inside a Vision Transformer"), title_of(rec, origin), lead)


def _section(title: str, parts: Iterable[str]) -> str:
    return html.tag("section", html.text("h2", title), html.tag("div", *parts, class_="two"))


def _photo(rec: Recording) -> str:
    drawn = outlined(rec.photo, rec.seen)
    alt = say("The photo {name}; what the model does not see is dimmed", name=rec.photo.name)
    wide, high = rec.photo.image.size
    about = say("{wide} × {high} px; the model sees the outlined part", wide=wide, high=high)
    return _plain(say("The photo"), about, html.image(drawn, alt, True, 800, "fitted"), rec.photo.notes)


def _seen(rec: Recording) -> str:
    high, wide = rec.grid.image_px
    drawn = html.image(rec.seen.pixels, say("The model's input"), False, class_="seen")
    return _plain(say("What the model sees"), say("{wide} × {high} px, no more", wide=wide, high=high), drawn)


def _plain(title: str, about: str, drawn: str, notes: Iterable[str] = ()) -> str:
    caption = html.tag("figcaption", *(html.text("p", note) for note in notes))
    top = html.text("h3", title) + html.text("p", about, class_="about")
    return html.tag("figure", top, html.tag("div", drawn, class_="pixels"), caption)


def _answer(rec: Recording) -> str:
    top = rec.top()
    title = html.text("h3", say("The answer"))
    if not top:
        none = say("This model has no classes: it gives {count} features instead of an answer.", count=len(rec.logits))
        return html.tag("div", title, html.text("p", none, class_="none"), class_="keep")
    about = say("softmax over all {count} classes it knows", count=len(rec.logits))
    return html.tag("div", title, html.text("p", about, class_="about"), html.bars(top), class_="keep answer")


def _figure(one: Picture) -> str:
    top = html.text("h3", one.title)
    kind = {"class_": WIDE[one.name]} if one.name in WIDE else {}
    if not one.tiles and one.figure is None:
        return html.tag("figure", top, html.text("p", one.about, class_="none"), **kind)
    parts = [top, html.text("p", one.about, class_="about"), _drawn(one)]
    if one.scale:
        parts.append(html.scale_bar(one.scale))
    lines = ((say("How to read this."), one.how), (say("What this cannot tell you."), one.limits))
    said = [html.tag("p", html.text("b", lead), " ", escape(words)) for lead, words in lines if words]
    return html.tag("figure", html.tag("div", *parts), html.tag("figcaption", *said), **kind)


def _drawn(one: Picture) -> str:
    if one.chart and one.figure:
        light, dark = (print_figure(_untitled(one.figure(mode)), "svg") for mode in ("light", "dark"))
        return html.tag("div", html.drawing(light, dark, one.alt), class_="pixels")
    tiles = [
        html.tag("div", html.image(pixels, f"{one.alt}: {name}" if name else one.alt, one.photo),
                 html.text("div", name, class_="tile") if name else "")
        for name, pixels in one.tiles
    ]  # fmt: skip
    return html.tag("div", *tiles, class_="pixels", style=f"--across:{one.across}")


def _untitled(fig):  # type: ignore[no-untyped-def]
    """The handout says a figure's title as text."""
    fig.layout.title = None
    return fig


def _tables(vit: Vit, rec: Recording, settings: Settings) -> str:
    heads = [say("head {head}", head=head + 1) for head in range(vit.heads)]
    rows = [[str(block), *(f"{px:.1f}" for px in line)] for block, line in enumerate(rec.distance_px)]
    found = 100 * mask(rec, settings)
    grid = [[str(r), *(f"{share:.3f}" for share in line)] for r, line in enumerate(found)]
    about = say("Mean attention distance of every head, in pixels of the model's input, as the paper counts it.")
    more = say(
        "Rollout of every patch, % of the total, {rows} rows and {cols} columns", rows=rec.grid.rows, cols=rec.grid.cols
    )
    return html.tag(
        "section", html.text("h2", say("The numbers")), html.text("p", about, class_="about"),
        html.table([say("layer"), *heads], rows, say("Mean attention distance")),
        html.tag("details", html.text("summary", more),
                 html.table([say("row"), *map(str, range(rec.grid.cols))], grid, say("Attention rollout"))),
        html.text("p", say("This file also holds all of them as JSON, in the element with the id “numbers”."), class_="about"),
    )  # fmt: skip


def _made(vit: Vit, rec: Recording, settings: Settings, origin: Origin, side: ModelSide) -> str:
    shell = command(origin.file or rec.photo.name, vit.name, settings)
    how = [html.text("h3", say("Make it again")), html.tag("pre", html.text("code", shell))]
    if origin.address:
        how += [html.text("p", say("or in the app:"), class_="about"), html.tag("p", _link(origin.address))]
    if origin.lacking:
        how.append(html.text("p", origin.lacking, class_="none"))
    parts = [
        html.tag("div", html.text("h3", say("Settings")), html.facts(_settings(vit, settings)), class_="keep"),
        html.tag("div", html.text("h3", say("Model")), html.facts(_card(vit, rec, side)), class_="keep"),
        html.tag("div", html.text("h3", say("Photo")), html.facts(_credits(rec, origin)), class_="keep"),
        html.tag("div", html.text("h3", say("Versions")), html.facts(_versions(origin)), class_="keep"),
        html.tag("div", *how, class_="whole keep"),
    ]
    sources = html.tag("p", "<br>".join(escape(source) for source in SOURCES), class_="foot")
    return _section(say("How this was made"), parts) + sources


def _settings(vit: Vit, settings: Settings) -> dict[str, str]:
    given = {
        say("Asked"): asked(vit, settings),
        say("Heads fused by"): {"mean": say("mean"), "max": say("maximum"), "min": say("minimum")}[settings.fusion],
        say("Weakest weights discarded"): f"{settings.discard:.0%}",
        say("Residual weight"): f"{settings.residual:.0%}",
        say("First layer"): str(settings.first_block),
        say("Class token in distances"): say("dropped, not renormalised, as in the paper"),
    }
    return {name: escape(value) for name, value in given.items()}


def _card(vit: Vit, rec: Recording, side: ModelSide) -> dict[str, str]:
    grid = rec.grid
    high, wide = grid.step_px
    tokens = say("{tokens} tokens: {prefix} before {patches} patches", tokens=grid.tokens, prefix=grid.prefix,
                 patches=grid.patches)  # fmt: skip
    given = {
        say("Title"): vit.card.title, say("Name"): vit.name,
        say("Parameters"): f"{side.params:,}".replace(",", " "), say("Licence"): vit.card.licence,
        say("Grid"): say("{rows} × {cols} patches of {high} × {wide} px", rows=grid.rows, cols=grid.cols, high=high, wide=wide),
        say("Sequence"): tokens, say("Layers × heads"): f"{vit.blocks} × {vit.heads}",
        say("Answer read from"): asked(vit, USUAL), say("Weights, SHA-256"): side.digest,
    }  # fmt: skip
    return {name: escape(value) for name, value in given.items()}


def _credits(rec: Recording, origin: Origin) -> dict[str, str]:
    credit = origin.credit
    licence = escape(credit.get("licence", ""))
    if credit.get("licence_url", "").startswith("https://"):
        licence = html.text("a", credit["licence"], href=credit["licence_url"])
    return {
        say("Title"): escape(credit.get("title", "")), say("File"): escape(rec.photo.name),
        say("Author"): escape(credit.get("author", "")), say("Licence"): licence,
        say("Source"): escape(credit.get("source", "")), say("Changes"): escape(credit.get("changes", "")),
        say("File, SHA-256 (first 16 digits)"): escape(rec.photo.digest),
    }  # fmt: skip


def _versions(origin: Origin) -> dict[str, str]:
    from vitcore.report.contents import versions

    return {name: escape(value) for name, value in versions().items()} | {say("Made"): escape(origin.made or now())}


def _link(address: str) -> str:
    return html.text("a", address, href=address) if address.startswith(("http://", "https://")) else escape(address)
