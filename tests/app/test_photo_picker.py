"""A good photo becomes the photo; a bad one is one sentence, and the photo stays."""

import numpy as np
import pytest
import timm
from picture_files import HOSTILE_NAMES, animated, bad, corners, flat, saved
from PIL import Image
from visitor import SLUGS, App

import vitcore
from app.state.photos import sample_photos, uploaded_photo
from vitcore.images import printable_name


def shown(app: App) -> str:
    """The picture on the patches page, as Python sent it to the canvas."""
    return app.component("split")["image"]


def test_a_good_photo_becomes_the_photo_and_stays_from_page_to_page(kinds, offer):
    offer(registers=kinds["registers"])
    app = App("patches", model="registers").fine()
    before = shown(app)
    app.upload("mine.png", saved(corners((300, 200)), "PNG")).fine()
    mine = shown(app)
    assert mine != before and not app.at.error and "mine.png" in app.text("caption")
    for slug in SLUGS:
        assert app.go(slug).fine().values()["photo"] == uploaded_photo.PHOTO_ID
    assert shown(app.go("patches")) == mine
    assert shown(app.set(photo="cat").fine()) != mine
    assert shown(app.set(photo=uploaded_photo.PHOTO_ID).fine()) == mine


BAD = {name: bad()[name] for name in ("empty.jpg", "text.jpg", "drawing.svg", "strip.png", "large.bmp", "nan.tif", "truncated.jpg")}


def test_a_bad_file_is_one_sentence_and_the_photo_stays(kinds, offer):
    offer(registers=kinds["registers"])
    app = App("patches", model="registers", photo="cat").upload("mine.png", saved(corners((300, 200)), "PNG")).fine()
    before, values = shown(app), app.values()
    for name, data in BAD.items():
        app.upload(name, data).fine()
        (said,) = app.sentences("error")
        assert said.startswith(name) and said.endswith(".") and "\n" not in said and len(said) < 250
        assert said.count(". ") == 0, f"one sentence: {said}"
        assert not any(word in said for word in ("Error", "Traceback", "0x")), said
        assert shown(app) == before and app.values() == values, name
    app.set(gutter=3).fine()
    assert shown(app) == before
    app.upload("other.png", saved(flat(), "PNG")).fine()
    assert not app.at.error and shown(app) != before


def test_a_name_is_not_markdown_and_what_was_wrong_is_old_news_once_another_photo_is_chosen():
    app = App("patches").upload("![](x)*_`$a$:red[b].jpg", b"")
    (error,) = app.at.error
    assert error.value.startswith(r"\!\[\]\(x\)\*\_\`\$a\$\:red\[b\].jpg is empty")
    assert not app.set(photo="cat").fine().at.error


def test_hostile_names_are_shown_as_they_are(kinds, offer):
    offer(registers=kinds["registers"])
    app = App("filters", model="registers")
    for name in [n for n in HOSTILE_NAMES if "\x00" not in n]:
        app.upload(name, b"not a photo").fine()
        (said,) = app.sentences("error")
        assert said.startswith(printable_name(name).strip()) and len(said) < 200
        app.upload(name, saved(corners(), "PNG")).fine()
        assert app.values()["photo"] == uploaded_photo.PHOTO_ID
        assert any(printable_name(name).strip() in said for said in app.sentences("caption")), name


ODD = {
    "frames.gif": (lambda: animated("GIF"), "3 frames: the first one is shown."),
    "deep.png": (lambda: saved(Image.fromarray(np.linspace(0, 65535, 64 * 64).astype(np.uint16).reshape(64, 64)), "PNG"), "16-bit"),
    "inks.jpg": (lambda: saved(flat((0, 255, 255, 0), mode="CMYK"), "JPEG"), "CMYK"),
    "glass.png": (lambda: saved(flat((200, 0, 0, 90), mode="RGBA"), "PNG"), "Transparent"),
}


def test_an_odd_photo_is_shown_with_a_note():
    app = App("patches")
    for name, (make, note) in ODD.items():
        app.upload(name, make()).fine()
        assert app.values()["photo"] == uploaded_photo.PHOTO_ID and not app.at.error
        assert any(note in said for said in app.sentences("caption")), name
    assert app.go("rollout").fine().pictures()


def test_a_link_to_an_own_photo_says_what_is_missing_and_takes_it():
    app = App("patches", photo=uploaded_photo.PHOTO_ID, gutter="3").fine()
    first = sample_photos.sample_photo_rows()[0]
    assert any("is not here" in said and first["title"] in said for said in app.sentences("markdown"))
    app.upload("mine.png", saved(corners((300, 200)), "PNG"), key="missing_file").fine()
    assert app.values()["photo"] == uploaded_photo.PHOTO_ID and app.values()["gutter"] == 3
    assert "is not here" not in app.text("markdown")
    without = App("patches", photo=uploaded_photo.PHOTO_ID).press("go_without")
    assert "is not here" not in without.text("markdown")
    app = App("patches", photo="mine.png").fine()
    assert app.values()["photo"] == first["id"], "somebody else's upload is not in a link"
    assert uploaded_photo.PHOTO_ID not in app.at.selectbox(key="photo").options


@pytest.mark.filterwarnings("ignore")
def test_a_model_of_many_bands_is_given_photos_of_as_many(kinds, offer, tmp_path):
    """Others are refused in a sentence; the bands that are shown can be chosen, and stand on the page and in the handout."""
    module = timm.create_model("vit_tiny_patch16_224", in_chans=13, depth=2, img_size=32, patch_size=8, num_classes=3).eval()
    offer(bands=vitcore.wrap(module, name="bands"), registers=kinds["registers"])
    app = App("patches", model="bands").fine()
    assert "has not the 13 bands that the model reads" in app.text("warning")
    app.upload("mine.png", saved(corners(), "PNG")).fine()
    assert "mine.png has not the 13 bands" in app.text("error")
    values = np.random.default_rng(0).integers(0, 65536, (40, 48, 13)).astype(np.uint16)
    np.save(tmp_path / "a.npy", values)
    app.upload("mine.npy", (tmp_path / "a.npy").read_bytes()).fine()
    assert "It has 13 bands: 0, 1, 2 are shown as red, green and blue." in app.text("caption") and not app.at.error
    before = shown(app)
    app.set(band_red=7).fine()
    told = "It has 13 bands: 7, 1, 2 are shown as red, green and blue."
    assert told in app.text("caption") and shown(app) != before
    for slug in ("overview", "filters", "tokens", "switch"):
        assert told in app.go(slug).fine().text("caption") and "of a photo can be given" not in app.text("warning")
    for slug in ("story", "cover"):
        assert "takes pictures of 13 bands" in app.go(slug).fine().text("warning")
    app.go("report").fine()
    assert told in app.at.get("iframe")[0].proto.srcdoc
    app.set(model="registers").fine()
    assert "mine.npy is in NumPy (.npy) format, which is not read here" in app.text("warning")
