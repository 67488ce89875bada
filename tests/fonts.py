"""Cuts the Chinese fonts that ship from Noto Sans CJK: the characters of the app's texts, and nothing else.

    pip install fonttools brotli && apt-get install fonts-noto-cjk && python tests/fonts.py

Run it when a text in `app/text/zh-*` has a new character; `tests/app/test_fonts.py` says so. It writes OpenType fonts for
`vitcore.figures.png_and_svg` (one a script, as matplotlib knows no language), and WOFF2 for the pages (both scripts in one
file a weight, told apart by the page's language through `locl`; and a small one with what the menu of languages says,
so that who reads English downloads no more than that).
"""

import re
from pathlib import Path

from fontTools import subset
from fontTools.ttLib import TTCollection, TTFont

ROOT = Path(__file__).parent.parent
TEXTS, PRINTED, SHOWN = ROOT / "app" / "text", ROOT / "vitcore" / "figures" / "fonts", ROOT / "app" / "static" / "fonts"
NOTO = Path("/usr/share/fonts/opentype/noto")
SCRIPTS = {"SC": "zh-CN", "TC": "zh-TW"}
CHINESE = re.compile("[\u2e80-\u9fff\uf900-\ufaff\uff00-\uffef]")
MENU = "语言語简体中文繁體"


def characters(*languages: str) -> set[str]:
    """The Chinese characters and full-width signs of the texts in these languages."""
    files = [file for lang in languages for file in (TEXTS / lang).iterdir()]
    return {char for file in files for char in CHINESE.findall(file.read_text(encoding="utf-8"))} | set("，。：；？！（）")


def face(weight: str, script: str) -> TTFont:
    """A font of Debian's collection."""
    faces = TTCollection(NOTO / f"NotoSansCJK-{weight}.ttc").fonts
    return next(font for font in faces if font["name"].getDebugName(1).startswith(f"Noto Sans CJK {script}"))


def cut(font: TTFont, chars: set[str], file: Path, features: list[str], name: str = "") -> None:
    """Write the font with these characters only, under another family's `name` if given."""
    options = subset.Options(layout_features=features, hinting=False, desubroutinize=False, notdef_outline=True)
    options.flavor = "woff2" if file.suffix == ".woff2" else None
    options.name_IDs = [0, 1, 2, 3, 4, 5, 6, 11, 13, 14]
    cutter = subset.Subsetter(options)
    cutter.populate(unicodes=map(ord, chars))
    cutter.subset(font)
    for record in font["name"].names if name else []:
        if record.nameID in (1, 3, 4, 6):
            record.string = name.replace(" ", "") if record.nameID == 6 else name
    subset.save_font(font, file, options)
    print(f"{file.relative_to(ROOT)}: {len(chars)} characters, {file.stat().st_size / 1000:.0f} kB")


def only_traditional(font: TTFont) -> TTFont:
    """The simplified font with the traditional forms as its only alternatives (it has Japanese and Korean ones, too)."""
    for record in font["GSUB"].table.ScriptList.ScriptRecord:
        record.Script.LangSysRecord = [lang for lang in record.Script.LangSysRecord if lang.LangSysTag == "ZHT "]
        record.Script.LangSysCount = len(record.Script.LangSysRecord)
    return font


def main() -> None:
    """Write every font."""
    for script, lang in SCRIPTS.items():
        name = f"Inside ViT {script}"
        cut(face("Regular", script), characters(lang), PRINTED / f"{name.lower().replace(' ', '-')}.otf", [], name)
    both = characters(*SCRIPTS.values())
    for weight in ("Regular", "Bold"):
        cut(only_traditional(face(weight, "SC")), both, SHOWN / f"noto-sans-chinese-{weight.lower()}.woff2", ["locl"])
    cut(face("Regular", "SC"), set(MENU), SHOWN / "noto-sans-chinese-menu.woff2", [])


if __name__ == "__main__":
    main()
