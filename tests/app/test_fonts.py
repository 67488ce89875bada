"""No Chinese character of the texts is a blank box: printed figures and pages have fonts with every one of them."""

import importlib.util
import io

import numpy as np
import pytest
from fontTools.ttLib import TTFont
from PIL import Image
from visitor import MAIN

from app import texts
from vitcore import figures, translation
from vitcore.figures.painters.printed_text import FONTS_FOLDER
from vitcore.grid import Grid

ROOT = MAIN.parents[1]
KB_A_FONT = 600


def maker():
    """`tests/fonts.py`, which cuts the fonts."""
    spec = importlib.util.spec_from_file_location("cutting", ROOT / "tests" / "fonts.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


CUT = maker()


def lacking(font: str, *languages: str) -> set[str]:
    known = TTFont(ROOT / font).getBestCmap()
    return {char for char in CUT.characters(*languages) if ord(char) not in known}


FONTS = {f"vitcore/figures/fonts/inside-vit-{script.lower()}.otf": (lang,) for script, lang in CUT.SCRIPTS.items()}
FONTS |= {f"app/static/fonts/noto-sans-chinese-{weight}.woff2": tuple(CUT.SCRIPTS.values()) for weight in ("regular", "bold")}


@pytest.mark.parametrize("font", FONTS)
def test_printed_figures_and_pages_have_every_character(font):
    if font.endswith("woff2"):
        pytest.importorskip("brotli")
    assert lacking(font, *FONTS[font]) == set(), "run tests/fonts.py"


def test_fonts_are_small_and_in_the_package():
    sizes = {file.name: file.stat().st_size / 1000 for folder in (CUT.PRINTED, CUT.SHOWN) for file in folder.iterdir()}
    assert {name: size for name, size in sizes.items() if size > KB_A_FONT} == {}
    assert sizes["noto-sans-chinese-menu.woff2"] < 5
    assert FONTS_FOLDER == ROOT / "vitcore" / "figures" / "fonts" and len(list(FONTS_FOLDER.glob("*.otf"))) == 2
    assert "fonts/*" in (ROOT / "pyproject.toml").read_text(encoding="utf-8")


def test_the_menu_of_languages_has_a_font_of_its_own():
    pytest.importorskip("brotli")
    known = TTFont(CUT.SHOWN / "noto-sans-chinese-menu.woff2").getBestCmap()
    shown = "".join(texts.LANGUAGES.values()) + (MAIN.parent / "texts.py").read_text(encoding="utf-8")
    assert {char for char in shown if CUT.CHINESE.match(char)} == {chr(code) for code in known} == set(CUT.MENU)


@pytest.mark.parametrize("lang", CUT.SCRIPTS.values())
@pytest.mark.parametrize("kind", ["png", "svg"])
@pytest.mark.filterwarnings("error:Glyph")
def test_a_printed_figure_speaks_chinese(lang, kind):
    grid = Grid(4, 4, 8, 1)
    with translation.using_translation(texts.translation_table(lang)):
        fig = figures.attention_distance(np.full((2, 3), 9.0), grid, 12.0)
        printed = figures.print_figure(fig, kind, texts.prose("distance", lang)["how"])
        assert fig.title == texts.translation_table(lang)["Mean attention distance"]
    assert printed != figures.print_figure(fig, kind), "the note is printed"


def test_each_script_is_printed_in_its_own_font():
    """直 and 角 have one code each and two forms: the sentence says the font, too."""
    assert {lang: texts.translation_table(lang)["Inside ViT SC"] for lang in CUT.SCRIPTS.values()} == {
        lang: f"Inside ViT {script}" for script, lang in CUT.SCRIPTS.items()
    }
    pictures = []
    for lang in CUT.SCRIPTS.values():
        with translation.using_translation({"Inside ViT SC": texts.translation_table(lang)["Inside ViT SC"]}):
            fig = figures.predictions([("a", 0.5)], title="直角")
            pictures.append(np.asarray(Image.open(io.BytesIO(figures.print_figure(fig)))))
    assert pictures[0].shape == pictures[1].shape and (pictures[0] != pictures[1]).any()
