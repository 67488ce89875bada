"""A figure on a page: the chart, a fold that says how to read it, and a way to take it and its numbers along."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import streamlit as st
from numpy.typing import ArrayLike
from streamlit.delta_generator import DeltaGenerator

from app import texts
from app.components.page_style.page_style import page_size
from app.menu import page_target
from vitcore.csv_and_npz import to_csv, to_npz
from vitcore.figures import print_figure
from vitcore.figures.drawing import Drawing, fit_figure_to_width, limit_figure_height, remove_title
from vitcore.file_names import result_file_name, subject_title
from vitcore.translation import using_translation

PAGE_MARGIN_PX = 12  # at both sides of a phone
SCREEN_SHARE = 0.6  # of a screen's height, below a page's title, words and controls
ABOVE_PX = 84  # that a page's title and a figure's take in a lecture, where type is as large as usual
PICTURES = ("png", "svg", "html")  # that a figure is given as
MIMES = {
    "png": "image/png", "svg": "image/svg+xml", "html": "text/html", "gif": "image/gif", "webp": "image/webp",
    "npz": "application/octet-stream", "csv": "text/csv", "zip": "application/zip",
}  # fmt: skip


def text_before_picture(*sentences: str, key: str = "aside") -> DeltaGenerator:
    """What is said before a page's picture, and what else is put there; where a screen is short, it stands below the picture.

    A phone and a lecture show the title, the controls and `picture_container`, then this, then the rest; this is not shown before
    the page is complete: `page_style.css`.
    """
    place = st.container(key=key)
    for one in sentences:
        place.markdown(one)
    return place


def picture_menus_container() -> DeltaGenerator:
    """Menus that set a page's picture, in one row above it; where a screen is short, below it."""
    return st.container(horizontal=True, vertical_alignment="bottom", key="setters")


def picture_container() -> DeltaGenerator:
    """Where a page's picture is drawn, above what is said before it (`text_before_picture`) where a screen is short."""
    return st.container(key="lead")


def figure(
    fig: Drawing, key: str, alt: str, note: str = "", limits: str = "", on_click: Callable[[Any], None] | None = None,
    subjects: tuple[str, ...] = (), file_stem: str = "", source: str = "", caption: str = "", fills_screen: bool = False,
    animation: Callable[[], bytes] | None = None,
    **arrays: ArrayLike,
) -> None:  # fmt: skip
    """Show a figure; below it a `caption`, and in one row how to read it, what it cannot tell (both folded) and its downloads."""
    show_drawing(fig, key, alt, on_click, fills_screen)
    if caption:
        st.markdown(caption)
    with st.container(horizontal=True):
        show_explanation_fold(note, limits, source)
        if arrays:
            show_downloads(lambda: fig, key, note, subjects=subjects, file_stem=file_stem, animation=animation, **arrays)


def remember_click(key: str) -> Callable[[Any], None]:
    """For `on_click`: keeps what was touched. Not a function of the page: Streamlit keeps it, and with it all that the page has."""
    return partial(st.session_state.__setitem__, key)


def show_drawing(
    fig: Drawing, key: str, alt: str, on_click: Callable[[Any], None] | None = None, fills_screen: bool = False
) -> None:  # fmt: skip
    """Show a figure below its title, as large as the page's type (larger in a lecture), a picture no taller than a phone is wide.

    `on_click` is called with the custom data of a point that a person touches. A chart that is its page's first picture
    `fills_screen` below both titles, where type is larger than usual.
    """
    touch: dict[str, Any] = (
        {} if on_click is None else {"on_select": partial(_pass_on_click, key, on_click), "selection_mode": "points"}
    )
    with st.container(gap=None, key=f"chart_{key}"):
        if fig.title:
            st.markdown(f"**{texts.escape_markdown(fig.title)}**")
        if fig.subtitle:
            st.caption(texts.escape_markdown(fig.subtitle))
        drawn = _fit_to_page(fig, *page_size(), fills_screen)
        st.plotly_chart(
            drawn.to_plotly(), theme=None, key=key, config={"displayModeBar": False, "responsive": True}, alt=alt, **touch
        )


def _fit_to_page(drawing: Drawing, scale: float, narrow_px: int, screen_px: int, fills_screen: bool = False) -> Drawing:
    """The drawing `scale` times as large and without its title, on a page `narrow_px` wide, a screen `screen_px` high; 0: any."""
    drawing = replace(remove_title(drawing), zoom=scale)
    if narrow_px:
        drawing = fit_figure_to_width(drawing, narrow_px - 2 * PAGE_MARGIN_PX)
    if screen_px and fills_screen:
        return replace(drawing, height_px=screen_px / scale - ABOVE_PX)
    return limit_figure_height(drawing, round(SCREEN_SHARE * screen_px)) if screen_px else drawing


def _pass_on_click(key: str, on_click: Callable[[Any], None]) -> None:
    for point in st.session_state[key].selection.points[:1]:
        on_click(point.get("customdata"))


def show_explanation_fold(note: str, limits: str = "", source: str = "", is_map: bool = False) -> None:
    """A fold below a picture: how to read it, what it cannot tell, and where the method is from.

    Of a map of what an answer rests on (`is_map`), also the way to the page that tests what it can tell.
    """
    text = texts.prose("common")
    if not note and not limits:
        return
    narrow = bool(page_size().narrow)  # a phone's thumb and eye need more
    with st.popover(text["how to read" if note else "cannot tell"], icon=":material/info:",
                    type="secondary" if narrow else "tertiary", width="stretch" if narrow else "content"):  # fmt: skip
        if note:
            st.caption(note)
        if limits:
            st.caption(f"**{text['cannot tell']}** {limits}")
        if is_map:
            st.page_link(page_target("maptests"), label=text["maps tested"], icon=":material/fact_check:")
        if source:
            st.markdown(source)


def show_downloads(
    make: Callable[[], Drawing], key: str, note: str = "", subjects: tuple[str, ...] = (), file_stem: str = "",
    animation: Any = None, **arrays: ArrayLike,
) -> None:  # fmt: skip
    """PNG, SVG, self-contained HTML, and the numbers (arrays, lists, single ones) as NPZ and CSV, made when asked for.

    `animation` (a function without arguments that gives bytes) makes the picture's steps as a GIF, if there are any.

    Files are named for what they show (`file_stem`, else `key`) and their `subjects`, the photo and the models. Pictures say so.
    """
    stem, caption = (file_stem or key).replace("_", "-"), ". ".join(filter(None, [" · ".join(map(subject_title, subjects)), note]))
    text = texts.prose("common")
    makers = {kind: (text["picture as"], in_visitors_language(partial(_figure_file, make, kind, caption))) for kind in PICTURES}
    if animation is not None:
        makers["gif"] = texts.prose("report")["animation gif"], in_visitors_language(animation)
    makers |= {"npz": (text["numbers as"], partial(to_npz, arrays)), "csv": (text["numbers as"], partial(to_csv, arrays))}
    with st.popover(text["download"], icon=":material/download:", key=f"{key}_take"):
        for kind, (label, made) in makers.items():
            download_button(label.format(kind=kind.upper()), made, kind, (stem, *subjects), key=f"{key}_{kind}", width="stretch")


def _figure_file(make: Callable[[], Drawing], kind: str, note: str) -> bytes:
    return print_figure(make(), kind, note)


def download_button(
    label: str, make_file: Callable[[], bytes | str], kind: str, names: tuple[str, ...], *, key: str, **button: Any
) -> None:
    """A button that gives a file of this kind, named for `names`; it is made when it is asked for."""
    st.download_button(label, make_file, result_file_name(kind, *names), MIMES[kind], key=key, on_click="ignore", **button)


def in_visitors_language(make: Callable[[], bytes]) -> Callable[[], bytes]:
    """A function that makes the file later, in the language of the visitor who sees the page now."""
    words = texts.translation_table()

    def make_in_words() -> bytes:
        with using_translation(words):
            return make()

    return make_in_words
