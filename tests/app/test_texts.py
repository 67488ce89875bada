"""The app speaks three languages, all of it: the same keys everywhere, nothing unused, and no word outside the texts."""

import ast
import json
import pickle
import re
from collections import Counter
from functools import cache
from pathlib import Path

import chinese_characters_by_script
import numpy as np
import pytest
import sentences
from visitor import MAIN, SLUGS, App

from app import texts
from tests.rooms import nodes, tree
from vitcore import translation
from vitcore.translation import plural_categories

APP = MAIN.parent
SOURCES = sorted(APP.rglob("*.py"))
OTHERS = [lang for lang in texts.LANGUAGES if lang != texts.DEFAULT]
PAGES = sorted(file.stem for file in (texts.TEXTS_FOLDER / texts.DEFAULT).glob("*.md"))
BLANK = re.compile(r"\{(\w+)[^}]*\}")
FORMS = re.compile(r"\{\w+:([^}|]*\|[^}]*)\}")  # of a word, for a count
each_language = pytest.mark.parametrize("lang", OTHERS)


def page(name: str, lang: str) -> dict[str, str]:
    return texts.parse_texts((texts.TEXTS_FOLDER / lang / f"{name}.md").read_text(encoding="utf-8"))


def blanks(text: str) -> Counter:
    return Counter(BLANK.findall(FORMS.sub("", text)))


# Three languages say the same


@each_language
def test_a_page_has_the_same_keys_and_facts_in_every_language(lang):
    files = texts.TEXTS_FOLDER / lang
    assert sorted(file.stem for file in files.glob("*.md")) == PAGES and (files / "vitcore.toml").exists()
    for name in PAGES:
        english, other = page(name, texts.DEFAULT), page(name, lang)
        assert other.keys() == english.keys(), name
        assert {key: blanks(text) for key, text in other.items()} == {key: blanks(text) for key, text in english.items()}, name


@pytest.mark.parametrize("lang", texts.LANGUAGES)
def test_no_key_is_written_twice(lang):
    for name in PAGES:
        raw = (texts.TEXTS_FOLDER / lang / f"{name}.md").read_text(encoding="utf-8")
        prose = re.findall(r"^## (.+)$", raw, flags=re.M)
        labels = re.findall(r"^- ([^:\n]+): ", raw.partition("## labels")[2], flags=re.M)
        assert [key for key, count in Counter([*prose, *labels]).items() if count > 1] == [], name


@each_language
def test_what_vitcore_says_is_translated_and_nothing_else(lang):
    table, said = texts.translation_table(lang), sentences.said()
    assert said - table.keys() == set(), "sentences without a translation"
    assert table.keys() - said == set(), "translations of what is not said any more"


@each_language
def test_translations_keep_the_facts(lang):
    wrong = {
        english: there for english, there in texts.translation_table(lang).items() if set(blanks(english)) != set(blanks(there))
    }
    assert wrong == {}


def counting(lang: str) -> dict[str, str]:
    """Every text of a language with forms for a count in it, by where it is."""
    english = {f"vitcore: {sentence}": sentence for sentence in sentences.said()}
    found = english if lang == texts.DEFAULT else {f"vitcore: {k}": there for k, there in texts.translation_table(lang).items()}
    found |= {f"{name}: {key}": text for name in PAGES for key, text in page(name, lang).items()}
    return {where: text for where, text in found.items() if FORMS.search(text)}


@pytest.mark.parametrize("lang", texts.LANGUAGES)
def test_a_count_has_the_forms_of_its_language(lang):
    """As many as CLDR tells apart; and no word that English would bend stands unbent after a bare count."""
    forms = {where: [f.split("|") for f in FORMS.findall(text)] for where, text in counting(lang).items()}
    assert {where for where, found in forms.items() if {len(f) for f in found} != {len(plural_categories(lang))}} == set()
    assert (len(forms) > 40) == (len(plural_categories(lang)) > 1)
    if lang == "en":
        bare = re.compile(r"\{(count|photos|heads|blocks|classes|images)[^}|]*\} (?:photo|head|layer|class|image)s?\b")
        all_texts = [*sentences.said(), *(text for name in PAGES for text in page(name, lang).values())]
        assert [text for text in all_texts if bare.search(text)] == []


COUNTED = {"en": ("photos are", "photo is", "photos are", "photos are"), "zh-CN": ("张照片",) * 4, "zh-TW": ("張照片",) * 4}


@pytest.mark.parametrize("lang", texts.LANGUAGES)
def test_none_one_two_and_five_photos(lang):
    """In a page's words, and in what vitcore says in the visitor's language."""
    words = texts.prose("report", lang)
    for count, form in zip((0, 1, 2, 5), COUNTED[lang], strict=True):
        assert f"{count} {form}" in words.fill("ready", count=count)
        with translation.using_translation(texts.translation_table(lang)):
            said = translation.say("{count} {count:photo|photos} seen by {model}", count=count, model="it")
        assert form.split(" ")[0] in said and str(count) in said and "{" not in said
        assert ("1 photo " in said) == (lang == "en" and count == 1)


def test_a_form_follows_the_number_as_it_is_written():
    for written, form in (("1", "time"), ("1.0", "times"), ("1,001", "times"), (1, "time"), (1.5, "times"), (0, "times")):
        assert translation.fill_sentence("{n} {n:time|times}", {"n": written}) == f"{written} {form}"
    assert translation.fill_sentence("{n} {n:time|times}", {"n": "%{x}"}) == "%{x} times"
    polish = "{n:plik|pliki|plików|pliku}"
    assert [translation.fill_sentence(polish, {"n": n}, "pl") for n in (1, 2, 5, 22, "1.5")] == [
        "plik",
        "pliki",
        "plików",
        "pliki",
        "pliku",
    ]
    with translation.using_translation({"here": "hier"}):  # what isn't translated is bent as English is
        assert translation.say("{n} {n:head|heads}", n=1) == "1 head"


def test_what_is_not_nothing_does_not_read_0():
    shares = (0.342, 0.0006, 0.0004, 1e-9, 0.0)
    assert [translation.percent(share) for share in shares] == ["34.2 %", "0.1 %", "< 0.1 %", "< 0.1 %", "0.0 %"]
    assert translation.percent(0.001, 0) == "< 1 %"
    said = [translation.decimal(number, 2) for number in (-0.125, -0.004, 0, 1.5)]
    assert said == ["−0.12", "0.00", "0.00", "1.50"] and translation.decimal(0.25, 1, plus=True) == "+0.2"


def everything(lang: str) -> dict[str, str]:
    """Every text of a language by where it is."""
    found = {f"{name}: {key}": text for name in PAGES for key, text in page(name, lang).items()}
    return found | {f"vitcore: {english}": there for english, there in texts.translation_table(lang).items()}


@each_language
def test_the_texts_are_in_the_script_of_their_language(lang):
    foreign = set(chinese_characters_by_script.TRADITIONAL if lang == "zh-CN" else chinese_characters_by_script.SIMPLIFIED)
    assert {where: found for where, text in everything(lang).items() if (found := foreign & set(text))} == {}


@each_language
def test_bold_words_end_before_full_width_punctuation(lang):
    """CommonMark doesn't close `**…：**` before a letter, and people would read the asterisks."""
    bold = {where: text.split("**")[1::2] for where, text in everything(lang).items() if text.count("**") % 2 == 0}
    assert {where: words for where, words in bold.items() if any(word[-1:] in "，。：；！？" for word in words if word)} == {}


SAME = re.compile(
    r"\b(px|[kMG]B|dropout|mixup|cutmix|rand augment|Inside ViT|[ST]C|logit( lens)?|softmax|[Tt]oken|Esc|[a-zA-Z]|x_p"
    r"|ResNet|query|key|value|HTML|GIF|WebP|ZIP|NPZ|CSV|MLP|Grad-CAM|Captum)\b"
)


@each_language
def test_the_texts_are_translated(lang):
    """What is not Chinese, or in another language the same as in English, has no words: names, units and signs."""
    english = everything(texts.DEFAULT) | {f"vitcore: {sentence}": sentence for sentence in texts.translation_table(lang)}
    plain = {
        where: BLANK.sub("", text) for where, text in everything(lang).items()
        if (not re.search("[\u4e00-\u9fff]", text) if lang.startswith("zh") else text == english[where])
    }  # fmt: skip
    assert {where: text for where, text in plain.items() if re.search("[A-Za-z]", SAME.sub("", text))} == {}


# Every text is used, and every text that is asked for is there


@cache
def asked() -> tuple[set[str], list[re.Pattern]]:
    """The strings of the app's source, and those made with facts as patterns."""
    every = [node for file in SOURCES for node in nodes(file)]
    made = [node for node in every if isinstance(node, ast.JoinedStr)]
    patterns = ["".join(re.escape(p.value) if isinstance(p, ast.Constant) else ".+" for p in node.values) for node in made]
    plain = {node.value for node in every if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    return plain, [re.compile(p) for p in patterns if re.search(r"\w", p.replace(".+", ""))]


COMPOSED = (
    "story",
)  # of a step, kind of model and part, each a string of its own (`app.views.story.story_step.StoryStep.text_key`)


def test_no_text_is_unused():
    strings, made = asked()
    plain = strings | set(sentences.READOUTS) | {string.strip() for string in strings}

    def used(name: str, key: str, patterns: list[re.Pattern]) -> bool:
        parts = key.split(" ") if name in COMPOSED else [key]
        return key in plain or any(p.fullmatch(key) for p in patterns) or all(part in plain for part in parts)

    for name in PAGES:
        keys = page(name, texts.DEFAULT)
        patterns = [*made, *(re.compile(re.escape(key) + r"\..+") for key in keys)]  # of `controls.choice`
        assert [key for key in keys if not used(name, key, patterns)] == [], name


def test_a_key_that_is_missing_says_which_file_lacks_it():
    with pytest.raises(KeyError, match=r"zh-TW/patches\.md has no 'nothing'"):
        texts.prose("patches", "zh-TW")["nothing"]


# No word outside the texts

SHOWS = {
    "audio_input", "badge", "button", "camera_input", "caption", "checkbox", "download_button", "error", "expander",
    "file_uploader", "form_submit_button", "header", "image", "info", "link_button", "markdown", "metric", "multiselect",
    "number_input", "page_link", "pills", "popover", "progress", "radio", "segmented_control", "select_slider",
    "selectbox", "slider", "spinner", "status", "subheader", "success", "tabs", "text", "text_area",
    "text_input", "title", "toast", "toggle", "warning", "write", "layer_slider", "patch_input", "head_menu",
    "select_menu", "explain", "dialog",
}  # fmt: skip
NAMED = {"label", "help", "placeholder", "alt", "caption", "title", "unit", "about", "body", "text"}
NO_WORDS = re.compile(r":material/\w*:|views/\w*/page\.py|<[^>]+>|#+|px\b|Inside ViT|Language · 语言 · 語言")
TYPED = ("/home/me/photos", "owner/name")  # examples of what is typed, the same in every language


def literal(node: ast.expr) -> str:
    """What a string says by itself, without its facts."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return "" if node.value in TYPED else node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(part.value for part in node.values if isinstance(part, ast.Constant))
    if isinstance(node, ast.BinOp):
        return literal(node.left) + literal(node.right)
    if isinstance(node, ast.IfExp):
        return literal(node.body) + literal(node.orelse)
    if isinstance(node, ast.List | ast.Tuple):
        return "".join(map(literal, node.elts))
    return ""


def shown(source: ast.AST) -> list[tuple[int, str]]:
    """Literal words that calls which show something are given: line and words."""
    found = []
    for node in ast.walk(source):
        if not isinstance(node, ast.Call) or re.match(r"st\.set_page_config$|_log\.", ast.unparse(node.func)):
            continue
        called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        given = [k.value for k in node.keywords if k.arg in NAMED]
        given += node.args[:1] if called in SHOWS else []
        found += [(node.lineno, literal(arg)) for arg in given if re.search(r"[^\W\d_]{2}", NO_WORDS.sub("", literal(arg)))]
    return found


def test_no_word_is_shown_that_is_not_in_the_texts():
    assert {str(file.relative_to(APP)): found for file in SOURCES if (found := shown(tree(file)))} == {}


def test_words_outside_the_texts_are_found():
    source = ('st.button("Go", help=f"Step {n}")', 'x.caption(f"**{a}** {b}")', 'st.tabs(["One", text["two"]])', 'st.info("— :x:")')
    assert [words for _, words in shown(ast.parse("\n".join(source)))] == ["Step ", "Go", "One"]


COMPONENTS = APP / "components"
VISIBLE_HTML = re.compile(r">([^<>]*[A-Za-z]{2}[^<>]*)<|(?:aria-label|title|alt|placeholder)=[\"']([^\"']*[A-Za-z]{2}[^\"']*)[\"']")
SET_IN_JS = re.compile(
    r"(?:textContent|innerText|innerHTML|title|alt|placeholder|ariaLabel)\s*=\s*([\"'`][^\n]*)"
    r"|setAttribute\(\s*[\"'](?:aria-label|title|alt|placeholder|aria-valuetext|aria-description)[\"'],\s*([\"'`][^\n]*)"
)


def test_no_word_is_in_the_html_or_the_script_of_a_component():
    for file in COMPONENTS.rglob("*.html"):
        said = re.sub(r"<!--.*?-->|&\w+;|\{\w+\}", "", file.read_text(encoding="utf-8"), flags=re.S)
        assert VISIBLE_HTML.findall(said) == [], file
    for file in COMPONENTS.rglob("*.js"):
        said = re.sub(r"^\s*//.*$|\s//\s.*$", "", file.read_text(encoding="utf-8"), flags=re.M)
        found = ["".join(groups) for groups in SET_IN_JS.findall(said)]
        words = [re.sub(r"\$\{[^}]*\}", "", quoted) for line in found for quoted in re.findall(r"[\"'`][^\"'`]*[\"'`]", line)]
        assert [word for word in words if re.search(r"[A-Za-z]{2}", word.replace("px", ""))] == [], file
        phrases = re.findall(r"[\"'`]([A-Z]?[a-z]+(?: [a-z]+){3,}[.?!]?)[\"'`]", said)
        assert phrases == [], f"whole sentences: {file}"


# Which language


@pytest.mark.parametrize(("locale", "lang"), [
    (None, "en"), ("", "en"), ("en-GB", "en"), ("de", "en"), ("zh", "zh-CN"), ("zh-CN", "zh-CN"), ("zh-Hans-HK", "zh-CN"),
    ("zh-SG", "zh-CN"), ("zh-TW", "zh-TW"), ("zh-HK", "zh-TW"), ("zh-Hant", "zh-TW"), ("zh-Hant-CN", "zh-TW"), ("zh_MO", "zh-TW"),
    ("ZH-tw", "zh-TW"), ("zho", "en"),
])  # fmt: skip
def test_the_language_of_a_locale(locale, lang):
    assert (texts.match_language(locale) or texts.DEFAULT) == lang


def title(app: App) -> str:
    return app.at.title[0].value


TITLES = {lang: page("menu", lang)["patches"] for lang in texts.LANGUAGES}


@pytest.mark.parametrize(("given", "lang"), [
    *(({"lang": lang}, lang) for lang in texts.LANGUAGES), ({"locale": "zh-HK"}, "zh-TW"),
    ({"locale": "zh-HK", "lang": "en"}, "en"), ({"locale": "fr"}, "en"), ({"lang": "tlh"}, "en"),
    *(({"lang": tag}, "zh-TW") for tag in ("zh-Hant", "ZH_tw", "zh-Hant-HK", "zh-MO")),
    *(({"lang": tag}, "zh-CN") for tag in ("zh", "zh-Hans", "zh_SG", "zh-Hans-TW")), ({"lang": "EN-gb", "locale": "zh"}, "en"),
], ids=str)  # fmt: skip
def test_the_address_says_the_language_else_the_browser_does(given, lang):
    app = App("patches", **given).fine()
    assert title(app) == TITLES[lang] and app.values()["lang"] == lang


def test_the_menu_says_the_language_and_every_page_and_its_settings_keep_it(kinds, offer):
    offer(registers=kinds["registers"])
    app = App("patches", model="registers").fine()
    app.set(lang="zh-TW").fine()
    assert "zh-TW" in app.at.query_params["lang"] and title(app) == TITLES["zh-TW"]
    for slug in [*SLUGS, "train", "learn"]:
        assert title(app.go(slug).fine()) == page("menu", "zh-TW")[slug]
    app.go("distance").set(cls="renormalise").set(lang="zh-CN").fine()
    assert app.values()["cls"] == "renormalise"
    app.go("patches").set(patch=7, gutter=3).set(lang="en").fine()
    assert (app.values()["patch"], app.values()["gutter"], title(app)) == (7, 3, TITLES["en"])


@each_language
def test_a_link_opens_the_same_view_in_another_language(lang):
    for name, option in (("重新归一化", "renormalise"), ("重新正規化", "renormalise"), ("renormalise", "renormalise")):
        app = App("distance", lang=lang, cls=name).fine()
        assert app.values()["cls"] == option
        assert page("distance", lang)["cls.renormalise"] in app.controls["cls"].options[1]
    for film in ("Inside ViT Ti/8, from noise to names", "Inside ViT Ti/8，从噪声到名称", "vit-tiny-patch8-128"):
        assert App("learn", lang=lang, film=film).fine().values()["film"] == "vit-tiny-patch8-128"


# What is kept, and what other processes say


def test_what_one_visitor_is_told_another_is_told_in_his_own_language():
    """Notes of a photo and pictures of a film are kept by the server, once a language."""
    from picture_files import animated

    for lang, said in (("en", "3 frames"), ("zh-CN", "共 3 帧"), ("zh-TW", "共 3 個影格")):
        app = App("patches", lang=lang).upload("frames.gif", animated("GIF")).fine()
        assert any(said in caption for caption in app.sentences("caption"))
        film = App("learn", lang=lang).fine()
        assert film.component("film_filters")["title"] == page("learn", lang)["filters title"]


def test_what_a_training_said_is_said_again_in_the_reader_s_language():
    """Sentence and facts travel apart, as JSON, through errors and into each other; no finished sentence is guessed at."""
    try:
        raise ValueError(translation.say("{name} is empty.", name=Path("a.jpg")))
    except ValueError as error:
        problem = str(error)
    none = "None of the {count} {count:photo|photos} of {name} can be read: {first}"
    one = translation.say(none, count=np.int64(1), name="mine", first=problem)
    sizes = "{name} is {width}×{height} px; both sides need at least {least} px."
    small = translation.say(sizes, name="b", width=4, height=9, least=8)
    told = json.loads(
        json.dumps([translation.sentence_as_json(said) for said in (one, pickle.loads(pickle.dumps(small)), "Free {x}.")])
    )
    assert told[0]["facts"]["first"] == {"sentence": "{name} is empty.", "facts": {"name": "a.jpg"}, "text": "a.jpg is empty."}
    assert [translation.sentence_from_json(part) for part in told] == [one, small, "Free {x}."]
    with translation.using_translation(texts.translation_table("zh-CN")):
        assert [translation.sentence_from_json(part) for part in told] == [
            "mine 的 1 张照片没有一张能读取：a.jpg 是空的。", "b 是 4×9 px；两边都至少要有 8 px。", "Free {x}."
        ]  # fmt: skip
        assert (
            translation.sentence_from_json({"sentence": "of {another} version", "facts": {}, "text": "of 1 version"})
            == "of 1 version"
        )


def test_every_file_of_texts_is_read_by_the_app():
    """By `texts.prose(name)`, named there; a page that is not in the menu is read by nobody."""
    calls = [node for file in SOURCES for node in nodes(file) if isinstance(node, ast.Call) and node.args]
    read = {
        node.args[0].value for node in calls
        if ast.unparse(node.func) in ("texts.prose", "prose") and isinstance(node.args[0], ast.Constant)
    }  # fmt: skip
    assert set(PAGES) - read == set() and read - set(PAGES) == set()
    assert {Path(file).suffix for file in (texts.TEXTS_FOLDER / "zh-CN").iterdir()} == {".md", ".toml", ".tsv"}
