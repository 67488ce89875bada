"""The handout: one file that needs nothing else, whose numbers are the recording's, honest for every kind of model."""

import base64
import io
import json
import re
import shlex
from html.parser import HTMLParser

import numpy as np
import pytest
from jinja2 import Environment, FileSystemLoader
from PIL import Image

import vitcore
from tests.printed_figures import printed_once
from vitcore.analysis.outlier_tokens import outliers_in_map
from vitcore.analysis.rollout import rollout
from vitcore.figures.heat_overlay import scale_top
from vitcore.figures.outlier_frames import FRAME_COLOUR
from vitcore.figures.theme_colours import hex_to_rgb
from vitcore.forward.mask_outliers import mask_outlier_tokens, outliers_in_recording
from vitcore.forward.recording import record
from vitcore.outlier_sentences import outlier_sentence
from vitcore.report import html_page
from vitcore.report.handout import handout
from vitcore.report.model_facts import collect_model_facts, weights_digest
from vitcore.report.report_numbers import all_heads_attention_from_or_to_token, package_versions, rollout_per_layer
from vitcore.report.report_pictures import photo_pictures
from vitcore.report.report_settings import ReportOrigin, ReportSettings, report_command
from vitcore.translation import percent_in_two_digits, using_translation

MOST_BYTES = 6 * 2**20
FOREIGN = re.compile(r"""(?:src|srcset|action|poster)=["']?(?!data:)[^"'>\s]+|url\((?!["']?data:)|@import|<link|<iframe""")


class Page(HTMLParser):
    """A handout taken apart: elements with their attributes, its text, and its JSON."""

    def __init__(self, data: bytes) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict]] = []
        self.open: list[str] = []
        self.words: list[str] = []
        self.json = ""
        self.feed(data.decode())
        self.numbers = json.loads(self.json)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        self.open.append(tag)

    def handle_endtag(self, tag):
        while self.open and self.open.pop() != tag:
            pass

    def handle_data(self, data):
        if "script" in self.open:
            self.json += data
        elif "style" not in self.open:
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(self.words).replace("\N{NO-BREAK SPACE}%", " %")

    def all(self, tag: str) -> list[dict]:
        return [attributes for name, attributes in self.elements if name == tag]


@pytest.fixture(scope="module", autouse=True)
def each_figure_is_printed_once():
    with printed_once():
        yield


@pytest.fixture(scope="module")
def side(shipped):
    return collect_model_facts(shipped)


@pytest.fixture(scope="module")
def page(shipped, rec, side) -> Page:
    origin = ReportOrigin(address="http://localhost:8501/report?photo=astronaut", credit={"title": "An astronaut", "author": "NASA",
                    "licence": "Public domain", "licence_url": "https://example.org/pd"})  # fmt: skip
    data = handout(shipped, rec, ReportSettings(), origin, side)
    assert len(data) <= MOST_BYTES
    assert not FOREIGN.search(data.decode()), "it must not fetch anything"
    return Page(data)


def pictures(page: Page) -> list[Image.Image]:
    found = []
    for img in page.all("img"):
        assert img["alt"].strip(), "every picture says what it shows"
        kind, _, data = img["src"].partition(";base64,")
        if kind == "data:image/webp":
            image = Image.open(io.BytesIO(base64.b64decode(data)))
            image.load()
            assert image.size == (int(img["width"]), int(img["height"]))
            found.append(image)
        else:
            assert kind == "data:image/svg+xml" and base64.b64decode(data).lstrip().startswith(b"<?xml")
    return found


def test_all_pictures_are_in_it_and_say_what_they_show(page, shipped):
    drawn = pictures(page)
    # photo, input, patches, filters, positions, rollout, a frame a layer, a map a head; and the chart of distances
    assert len(drawn) == 6 + shipped.blocks + shipped.heads
    assert len(page.all("img")) == len(drawn) + 1
    assert all(np.asarray(image.convert("L")).std() > 1 for image in drawn), "an empty picture"
    for title in ("The photo as patches", "RGB embedding filters", "Position-embedding similarity", "Attention rollout",
                  "Mean attention distance", "All heads of the last layer", "How to read this.",
                  "; 1: pink in the middle, green around it; 2: pink at the top, green at the bottom"):  # fmt: skip
        assert title in page.text


def test_its_numbers_are_the_recording_s(page, rec, shipped, side):
    said = page.numbers
    assert np.array_equal(np.array(said["distance_px"], np.float32), rec.distance_px)
    assert np.array_equal(np.array(said["distance_renormalised_px"], np.float32), rec.distance_renormalised_px)
    assert np.array_equal(np.array(said["rollout"]), rec.rollout())
    assert [tuple(pair) for pair in said["top5"]] == rec.top_classes()
    assert said["filters_variance"] == side.components.variance[:28].tolist()
    assert said["positions_correlation_with_distance"] == side.correlation
    assert said["model"] | {"sha256": 0} == {
        "name": shipped.name, "title": shipped.card.title, "parameters": sum(p.numel() for p in shipped.module.parameters()),
        "licence": "Apache-2.0", "sha256": 0, "blocks": 12, "heads": 3, "readout": "class token",
    }  # fmt: skip
    assert said["versions"] == package_versions() and said["photo"]["digest"] == rec.photo.digest


def test_the_tables_print_the_same_numbers(page, rec):
    for px in rec.distance_px.ravel():
        assert f"{px:.1f}" in page.words
    for share in rec.rollout().ravel():
        assert f"{100 * share:.3f}" in page.words
    for label, share in rec.top_classes():
        assert label in page.words and f"{100 * share:.1f}\u00a0%" in page.words


def test_it_says_how_to_make_it_again(page, side, rec):
    assert "python -m vitcore report astronaut.jpg --out report" in page.text
    assert {"href": "http://localhost:8501/report?photo=astronaut"} in page.all("a")
    for fact in (side.digest, rec.photo.digest, "NASA", "Apache-2.0", *package_versions().values()):
        assert fact in page.text


def test_settings_reach_the_pictures_the_numbers_and_the_command(shipped, rec, side):
    settings = ReportSettings(fusion="max", discard=0.5, residual=0.25, first_block=3, patch=17, pin=40)
    page = Page(handout(shipped, rec, settings, None, side))
    expected = rec.grid.to_map(rollout(rec.fused["max"], 1 + 17, prefix=1, discard_ratio=0.5, residual=0.25, first_block=3))
    assert np.array_equal(np.array(page.numbers["rollout"]), expected)
    given = {"fusion": "max", "discard_ratio": 0.5, "residual": 0.25, "first_block": 3, "patch": 17, "pin": 40}
    shown = {"layer": 11, "head": None, "token": None, "received": False}
    assert page.numbers["settings"] == given | shown | {"masked_patches": []}
    assert page.numbers["attention"] is None
    flags = "--fusion max --discard 0.5 --residual 0.25 --first-block 3 --patch 17 --pin 40"
    assert f"{flags} --out report" in page.text and "patch 17" in page.text and "maximum" in page.text
    assert "patch 40, row 2, column 8, is outlined" in page.text and "patch 40 in layer 11" in page.text
    assert len(pictures(page)) == 6 + (12 - 3) + 3 + 3  # the last: the pinned patch's heads
    assert "layers 3–11" in page.text and "layers 0–11" not in page.text


def test_outlier_tokens_are_masked_where_that_is_asked_and_it_is_said(shipped, rec, side):
    settings = ReportSettings(mask_outliers=True)
    page = Page(handout(shipped, rec, settings, None, side))
    amounts = np.array(page.numbers["rollout"]).ravel()
    assert page.numbers["settings"]["masked_patches"] == [0, 15, 240, 255]
    assert (amounts[[0, 15, 240, 255]] == 0).all() and np.delete(amounts, [0, 15, 240, 255]).min() > 0
    assert np.allclose(amounts, mask_outlier_tokens(rec).rollout().ravel())
    assert rollout_per_layer(rec, settings)[-1].ravel() == pytest.approx(amounts)
    first = [all_heads_attention_from_or_to_token(rec, one)[:, rec.grid.prefix] for one in (settings, ReportSettings())]
    assert (first[0] == 0).all() and (first[1] > 0).all()
    assert "4 outlier tokens masked" in page.text and "patches 0, 15, 240, 255" in page.text
    assert "report astronaut.jpg --mask-outliers --out report" in page.text


def test_outlier_tokens_are_named_and_framed_exactly_where_they_hold_much(shipped, rec):
    """Of the rollout, of its layers and of the last layer's heads; where they are masked nothing is framed."""
    patches, grid = outliers_in_recording(rec).patches, rec.grid
    settings = [ReportSettings(mask_outliers=hidden) for hidden in (False, True)]
    plain, masked = ({one.name: one for one in photo_pictures(shipped, rec, given)} for given in settings)
    heads = grid.to_map(all_heads_attention_from_or_to_token(rec, ReportSettings()))
    maps = {"rollout": [rec.rollout()], "layers": rec.rollout_per_layer(), "heads": heads}
    seen = set()
    for name, drawn in maps.items():
        marks = [outliers_in_map(one, patches).tolist() for one in drawn]
        for (_, pixels), some in zip(plain[name].tiles, marks, strict=True):
            framed = (np.asarray(pixels) == hex_to_rgb(FRAME_COLOUR)).all(-1)
            wide, high = framed.shape[1] / grid.cols, framed.shape[0] / grid.rows
            places = {int(row // high) * grid.cols + int(col // wide) for row, col in np.argwhere(framed)}
            assert places == set(some), name
            seen.add(bool(some))
        union = sorted({patch for some in marks for patch in some})
        assert plain[name].about.endswith(outlier_sentence(union, grid)) if union else "outlier" not in plain[name].about
        assert masked[name].about.endswith("4 outlier tokens masked")
        assert not any((np.asarray(pixels) == hex_to_rgb(FRAME_COLOUR)).all(-1).any() for _, pixels in masked[name].tiles)
    assert seen == {True, False}, "maps on both sides of the line"


def test_the_last_layer_of_the_build_up_is_the_rollout(rec):
    for settings in (ReportSettings(), ReportSettings(fusion="min", discard=0.3, residual=0.2, first_block=4, patch=3)):
        found = rollout_per_layer(rec, settings)
        assert found.shape == (12 - settings.first_block, 16, 16)
        whole = rec.rollout(settings.query_token(rec.grid), settings.fusion, **settings.rollout_arguments())
        assert np.allclose(found[-1], whole, atol=1e-12)


@pytest.mark.parametrize(
    "wrong", [{"fusion": "sum"}, {"discard": 1.0}, {"discard": -0.1}, {"residual": 1.1}, {"components": 0}, {"patch": 256},
              {"pin": -1}, {"first_block": 12}, {"layer": 12}, {"head": 3}, {"token": 1}], ids=str,
)  # fmt: skip
def test_settings_out_of_range_and_what_the_model_does_not_have_are_refused(wrong, shipped, rec, side):
    of_model = wrong.keys() <= {"patch", "pin", "first_block", "layer", "head", "token"}  # only with the model at hand
    with pytest.raises(ValueError, match="is from 0 to" if of_model else r"is one of|is from"):
        settings = ReportSettings(**wrong)
        assert of_model
        handout(shipped, rec, settings, None, side)


KINDS = {
    "registers": {"reg_tokens": 4}, "no class token": {"class_token": False, "global_pool": "map"},
    "mean of patches": {"class_token": False, "global_pool": "avg", "fc_norm": False}, "no positions": {"pos_embed": "none"},
    "no head": {"num_classes": 0}, "wide": {"img_size": (24, 48)}, "many heads": {"num_heads": 8},
    "large": {"img_size": 384, "patch_size": 16, "embed_dim": 32, "depth": 24, "num_heads": 16, "num_classes": 1000},
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_model(kind, make_vit, noise):
    """The largest is as large as ViT-L/16 at 384 px is to look at: 24 layers of 16 heads over 24 × 24 patches."""
    vit = make_vit(**KINDS[kind])
    rec = vitcore.record(vit, noise(0, (1600, 1200)) if kind == "large" else noise(), maps=[vit.blocks - 1])
    data = handout(vit, rec)
    page = Page(data)
    assert len(data) <= MOST_BYTES and len(pictures(page)) == 6 - (kind == "no positions") + vit.blocks + vit.heads
    assert ("no learned absolute position embeddings" in page.text) == (kind == "no positions")
    assert ("This model has no classes" in page.text) == (kind == "no head")
    assert ("the class token is dropped" in page.text) == bool(vit.grid.prefix)
    assert f"rollout of the {vit.pooling}" in page.text


def test_a_hybrid_says_that_its_filters_are_a_convolution_s(hybrid, noise):
    page = Page(handout(hybrid, vitcore.record(hybrid, noise(), maps=[hybrid.blocks - 1])))
    assert "A hybrid has no RGB patch filters" in page.text and "Root convolution" in page.text


def test_a_stranger_s_words_stay_words(make_vit, noise):
    name = "</script><script>alert(1)</script><img src=x onerror=alert(1)>\"'&.jpg"
    vit = make_vit()
    rec = vitcore.record(vit, vitcore.images.photo_from_image(noise(), name), maps=[vit.blocks - 1])
    origin = ReportOrigin(credit={"title": name, "licence": name, "licence_url": "javascript:alert(1)", "author": name},
                    address="javascript:alert(1)", lacking=name)  # fmt: skip
    data = handout(vit, rec, ReportSettings(), origin)
    page = Page(data)
    assert page.numbers["photo"]["name"] == name
    assert data.count(b"<script") == 1 and len(page.all("script")) == 1
    assert not [a for _, a in page.elements if {key for key in a if key.startswith("on")}]
    assert not [a for a in page.all("a") if not a["href"].startswith(("http://", "https://"))]
    assert all(img["src"].startswith("data:image/") for img in page.all("img"))


@pytest.mark.parametrize(("address", "only_here"), [
    ("http://localhost:8501/report?photo=cat", True), ("http://127.0.0.1:8501/", True), ("http://[::1]:8501/", True),
    ("http://0.0.0.0:8501/", True), ("https://vit.example.org/report?at=localhost", False), ("http://192.168.1.5:8501/", False),
    ("https://localhost.example.org/", False), ("http://[oops", False), ("", False),
])  # fmt: skip
def test_an_address_of_this_machine_only_is_called_so(address, only_here):
    origin = ReportOrigin(address=address)
    assert origin.only_here is only_here
    piece = html_page.jinja_environment().get_template("pieces.html").module.where(origin)
    assert ("opens only on the machine that this file was made on" in piece) is only_here


def test_no_template_lets_words_through_unescaped():
    """The style sheet, which is ours, is the one exception."""
    sources = [file.read_text(encoding="utf-8") for file in (html_page.REPORT_FOLDER / "templates").iterdir()]
    assert len(sources) == 6 and html_page.jinja_environment().autoescape is True
    assert re.findall(r"\|\s*safe|autoescape|Markup", "".join(sources)) == ["| safe"]


def test_it_speaks_the_language_of_the_table(make_vit, noise):
    vit = make_vit()
    rec = vitcore.record(vit, noise(), maps=[vit.blocks - 1])
    with using_translation({"The photo as patches": "照片切成图像块", "layers {first}–{last}": "第 {first}–{last} 层"}):
        page = Page(handout(vit, rec, ReportSettings(), ReportOrigin(lang="zh-CN")))
    assert page.all("html") == [{"lang": "zh-CN"}]
    assert "照片切成图像块" in page.text and "第 0–2 层" in page.text and "The photo as patches" not in page.text


def test_the_digest_is_of_the_weights_and_a_command_is_quoted_as_a_shell_needs(make_vit):
    vit, same, other = make_vit(), make_vit(), make_vit(seed=1)
    assert weights_digest(vit) == weights_digest(same) != weights_digest(other)
    assert re.fullmatch("[0-9a-f]{64}", weights_digest(vit))
    words = shlex.split(report_command("my photo's.jpg", "x y", ReportSettings()))
    assert words == ["python", "-m", "vitcore", "report", "my photo's.jpg", "--model", "x y", "--out", "report"]


def test_the_map_of_one_head_has_the_scale_of_its_small_map(shipped):
    rec = record(shipped, "assets/samples/red-panda.jpg", maps=[1])
    maps = rec.grid.to_map(rec.maps[1][:, 137].astype(np.float64))  # what patch 136 attends to
    assert scale_top(maps[0], rec.grid.even_share) < 0.5 * maps[0].max(), "one patch towers over the rest"
    for head, most in ((0, maps[0].max()), (None, scale_top(maps.mean(0), rec.grid.even_share))):
        pictures = photo_pictures(shipped, rec, ReportSettings(layer=1, head=head, pin=136))
        (scale,) = (one.scale for one in pictures if one.name == "attention")
        assert scale.high == pytest.approx(most / rec.grid.even_share, rel=1e-3)
        assert ("or more" in scale.unit) == (head is None and maps.mean(0).max() > most)


CHOSEN = {"of a head": {"layer": 3, "head": 2, "pin": 40}, "mean of heads": {"layer": 5},
          "given": {"layer": 3, "pin": 40, "received": True},
          "of a token": {"layer": 3, "token": 0, "pin": 40}, "of the asked patch": {"head": 1, "patch": 17}}  # fmt: skip


@pytest.mark.parametrize("chosen", CHOSEN.values(), ids=CHOSEN)
def test_the_attention_that_is_chosen_is_a_picture_with_its_numbers(chosen, shipped, side):
    settings = ReportSettings(**chosen)
    layer = chosen.get("layer", 11)
    rec = record(shipped, "assets/samples/astronaut.jpg", maps=[layer])
    page = Page(handout(shipped, rec, settings, None, side))
    token = 0 if not {"pin", "patch"} & chosen.keys() or "token" in chosen else 1 + chosen.get("pin", chosen.get("patch", 0))
    maps = rec.maps[layer].astype(np.float32)
    heads = maps[:, :, token] if "received" in chosen else maps[:, token]
    expected = heads[chosen["head"]] if "head" in chosen else heads.mean(0)
    said = page.numbers["attention"]
    assert (said["layer"], said["token"] or 0) == (layer, token)
    assert np.array_equal(np.array(said["patches"]).ravel(), expected[1:]) and said["prefix"] == [expected[0]]
    most = int(expected[1:].argmax())
    assert f"most: patch {most} (row {most // 16}, column {most % 16}), {percent_in_two_digits(expected[1:].max())}" in page.text
    assert f"layer {layer}, {'head ' + str(chosen['head']) if 'head' in chosen else 'mean of its heads'}" in page.text
    for name, number in chosen.items():
        assert (f"--{name} {number}" if number is not True else "--received") in page.text


def test_a_line_breaks_before_no_percent_sign_and_what_is_copied_stays(tmp_path, monkeypatch):
    page = '<p>99 %</p><pre><code>vitcore report "sale 50 %.jpg"</code></pre><script>{"photo": "sale 50 %.jpg"}</script>'
    (tmp_path / "page.html").write_text(page, encoding="utf-8")
    monkeypatch.setattr(html_page, "jinja_environment", lambda: Environment(loader=FileSystemLoader(tmp_path)))
    assert html_page.render_html("page.html").decode() == page.replace("99 %", "99\N{NO-BREAK SPACE}%") + "\n"
