"""ImageNet's classes have a name in each language, shown wherever a model's classes are these 1,000 and nowhere else."""

import pytest
from visitor import App

import vitcore
from app import texts
from app.state.training import film_figures
from app.views.rollout.rollout_visit import shown_class_names
from tests.conftest import NORMALISE
from vitcore.assets import SAMPLES, asset_path
from vitcore.figures.heat_overlay import scale_top
from vitcore.report.handout import handout
from vitcore.report.model_facts import collect_model_facts
from vitcore.report.report_numbers import report_numbers
from vitcore.report.report_settings import ReportSettings
from vitcore.train import film_files
from vitcore.translation import translated_labels, using_translation

CHINESE = ("zh-CN", "zh-TW")
LATIN = {"zh-CN": {"CD播放机", "iPod", "T恤衫", "福特T型车"}, "zh-TW": {"OK繃", "CD播放器", "iPod", "T恤", "福特T型車"}}
CODES = {  # of the characters that are taught there, with those that only zoology writes
    "zh-CN": ("gb2312", "鱥魟鹀鸮鹟䴕鳽狆獴羱鲉鲀"),
    "zh-TW": ("big5", "鱥鱝鵐蝰鴴㹴獴"),
}
TAIWANS_OWN = {"koala": "無尾熊", "laptop": "筆記型電腦", "lesser panda": "小貓熊", "pineapple": "鳳梨", "bagel": "貝果",
               "guinea pig": "天竺鼠", "missile": "飛彈", "cab": "計程車", "mouse": "滑鼠", "broccoli": "青花菜"}  # fmt: skip


@pytest.mark.parametrize("lang", CHINESE)
def test_every_class_of_imagenet_has_a_name_of_its_own(lang, shipped):
    rows = texts.class_name_rows(lang)
    assert tuple(label for label, _ in rows) == shipped.labels and len(rows) == 1000, "as timm has them, in their order"
    names = [name for _, name in rows]
    assert len({*names}) == 1000 and all(name == name.strip() for name in names)
    assert {name for name in names if any(char.isascii() for char in name)} == LATIN[lang]
    code, rare = CODES[lang]
    assert {char for name in names for char in name if not char.encode(code, "ignore")} == {*rare}, "in the other script"
    assert texts.class_name_rows("en") == []


def test_taiwan_has_names_of_its_own_and_two_classes_of_one_english_name_are_told_apart(shipped):
    there = dict(texts.class_name_rows("zh-TW"))
    assert {label: there[label] for label in TAIWANS_OWN} == TAIWANS_OWN
    with using_translation(texts.translation_table("zh-TW")):
        names = translated_labels(shipped.labels)
        assert [names[i] for i in (134, 517, 638, 639)] == ["鶴", "起重機", "緊身連身衣", "連身泳衣"]
        assert shown_class_names(shipped.labels)["crane (517)"] == "起重機 crane", "found by typing either"


def test_classes_of_any_other_model_stay_as_they_are(shipped):
    with using_translation(texts.translation_table("zh-CN")):
        assert translated_labels(shipped.labels)[134] == "鹤"
        for labels in (("crane", "cat"), shipped.labels[::-1], shipped.labels[:999], (*shipped.labels[:999], "ears"), ()):
            assert translated_labels(labels) is labels
    assert translated_labels(shipped.labels) is shipped.labels, "in English"


def test_pages_show_the_names_and_links_keep_the_class(shipped):
    app = App("overview", lang="zh-TW").fine()
    rec = vitcore.record(shipped, SAMPLES / "red-panda.jpg")
    names = [name for _, name in texts.class_name_rows("zh-TW")]
    expected = [names[i] for i in (-rec.logits).argsort()[:5]]
    assert [one[0] for one in app.component("look")["answer"]] == expected and expected[0] == "小貓熊"
    assert "ImageNet" not in app.text("caption"), "what it is called is what the photo is called"
    live = app.go("live").fine().component("live")
    assert [one["label"] for one in live["server"]["answer"]] == expected and live["labels"] == names
    for lang, given in {"zh-CN": "zebra", "zh-TW": "斑马 zebra", "en": "斑馬"}.items():
        app = App("rollout", lang=lang, compare="true", **{"class": given}).fine()
        shown = {"zh-CN": "斑马", "zh-TW": "斑馬", "en": "Chefer relevance for zebra"}[lang]
        assert app.values()["class"] == "zebra" and shown in app.text("markdown"), lang
        assert app.controls["class"].options[341] == {"zh-CN": "斑马 zebra", "zh-TW": "斑馬 zebra", "en": "zebra"}[lang]
    app = App("rollout", lang="zh-CN", **{"class": "134"}).fine()
    assert app.values()["class"] == "crane (134)" and any(button.label.startswith("小熊猫 ") for button in app.at.button)


def test_a_model_that_orders_its_classes_otherwise_keeps_their_names(make_module, shipped, offer):
    offer(backwards=vitcore.wrap(make_module(num_classes=1000), name="backwards", labels=shipped.labels[::-1], **NORMALISE))
    app = App("overview", lang="zh-CN", model="backwards").fine()
    assert {one[0] for one in app.component("look")["answer"]} < {*shipped.labels}


def test_a_handout_shows_the_names_and_its_numbers_keep_the_labels(shipped):
    rec = vitcore.record(shipped, SAMPLES / "red-panda.jpg", maps=[11])
    with using_translation(texts.translation_table("zh-CN")):
        facts = collect_model_facts(shipped)
        shown = handout(shipped, rec, model_facts=facts).decode().replace("\N{NO-BREAK SPACE}%", " %")
        assert "它的预测：小熊猫，99.9 %" in shown and "ImageNet 对这张照片" not in shown
        assert report_numbers(shipped, rec, ReportSettings(), facts)["top5"][0][0] == "lesser panda"


def test_a_film_that_ships_shows_the_names(shipped):
    film = film_files.open_film(asset_path("recordings/vit-tiny-patch8-128.safetensors"))
    known = [(label, number) for label, number in zip(film.classes, film.imagenet, strict=True) if number >= 0]
    assert len(known) == len(film.classes) - 1 and all(shipped.labels[number] == label for label, number in known)
    last = len(film.steps) - 1
    drawn = film_figures.photo_figures(film, last, 0, "light")
    for name in ("rollout", "last_block"):
        even, ends = film.grid.even_share, drawn[name].colour_scale
        assert ends and ends.high == pytest.approx(scale_top(film.arrays[name][last, 0], even) / even), "as elsewhere"
    with using_translation(texts.translation_table("zh-TW")):
        assert film.top(last, 0, translated=True)[0][0] == "小貓熊" and film.top(last, 0)[0][0] == "lesser panda"
        (label,) = film_figures.photo_figures(film, last, 0, "light")["answer"].labels[:1]
        assert label.text.startswith("小貓熊 ")
        assert translated_labels(("crane", "crane", "crane", "cat"), (517, 134, -1, 3)) == ("起重機", "鶴", "crane", "cat")
