"""The model's card: its row of Table 1 and, where it was measured, how fast it is; a measurement can be watched and stopped."""

import json
import sys
import time
from subprocess import DEVNULL, PIPE, Popen

import pytest
from visitor import App

from app import permissions, texts
from app.state.jobs import speed_measurement
from app.views.card import speed_section, table1_row
from app.widgets import paper_comparison
from vitcore.architectures.model_summary import Table1Row
from vitcore.assets import asset_path
from vitcore.models.model_cards import DEFAULT_MODEL, MODEL_CARDS, ModelCard
from vitcore.profiling import profile_subprocess
from vitcore.profiling.throughput import BatchThroughput, MeasuredDevice, ThroughputProfile

WORDS = texts.prose("card", "en")
HERE = MeasuredDevice("a device", "cpu", "fp32", 1, 1e11)
ONE, TWO = BatchThroughput(1, 5.0, 30.4), BatchThroughput(2, 8.0, 41.6)


def profile(*speeds: BatchThroughput, **more) -> ThroughputProfile:
    return ThroughputProfile("a", (128, 128), 10, 5e9, more.pop("training", False), 20.0, speeds, **more)


@pytest.fixture
def lines(monkeypatch):
    """`lines(profile, …, then="…")`: a process that says so, and then runs that code, stands in for the one that measures."""
    monkeypatch.setattr(speed_measurement, "_measurements", {})

    def says(*profiles: ThroughputProfile, then: str = "") -> None:
        said = [json.dumps({"batch": 1}), *(json.dumps(profile_subprocess._profile(HERE, one)) for one in profiles)]
        code = f"print({chr(10).join(said)!r}, flush=True)\n{then}"
        monkeypatch.setattr(speed_measurement, "_start_process", lambda order: Popen(
            [sys.executable, "-c", code], stdout=PIPE, stderr=DEVNULL, text=True, start_new_session=True))  # fmt: skip

    yield says
    speed_measurement._end_process()


def until(true) -> None:
    end = time.monotonic() + 120
    while not true() and time.monotonic() < end:
        time.sleep(0.01)
    assert true()


def test_the_row_and_the_nearest_of_table_1():
    app = App("card").fine()
    (row, *paper) = app.at.dataframe[0].value.to_numpy().tolist()
    assert row[1:] == ["12", "192", "768", "3", "5.62", "1.68", "257", "128 × 128"]
    assert paper[0][:6] == ["ViT-Base (Table 1)", "12", "768", "3072", "12", "86"]
    assert any("ViT-Base, has 15× as many (86 M)" in said for said in app.sentences("markdown"))

    def said(blocks: int, width: tuple[int, ...], params: int, tokens: int = 197) -> str:
        return table1_row.nearest_model_sentence(Table1Row(blocks, width, (), (), params, 17.58, tokens, (224, 224)), "one", WORDS)

    assert "has as many layers and the same width as ViT-Base" in said(12, (768,), 86_567_656)
    assert "about as many as ViT-Base" in said(16, (256, 2048), 86_000_000, 0) and "no tokens" in said(1, (2,), 3, 0)
    assert "3.2× as many as the nearest model of Table 1, ViT-Huge (632 M)" in said(48, (1664,), 2_000_000_000)
    assert [table1_row.number_range(of) for of in ((64, 512, 64), (64, 128, 512), ())] == ["64", "64–512", ""]


def test_its_accuracy_is_said_beside_the_papers():
    app = App("card").fine()
    said = " ".join(app.sentences("markdown"))
    assert "lower than that of any of the paper's ViTs" in said and "88.55 % (ViT-H/14 pre-trained on JFT-300M, Table 2)" in said
    assert "On the paper's photos, the 50,000 validation photos of ImageNet-1k," in said and "ranges from 71.16 %" in said
    assert "**The model's accuracy" not in said, "no verdict without the reservation"
    assert "of ViT-Ti/16 is 75.5 % on the paper's photos (timm's own table) and 37 to 62 % on the photos used here" in said
    assert "It has 5.6 M parameters. The smallest model of Table 1, ViT-Base, has 86 M" in said
    kinds, tiny, whole = ("1,328 validation photos of Imagenette, Imagewoof", "1,500 validation photos of Tiny ImageNet",
                          "the 50,000 validation photos of ImageNet-1k")  # fmt: skip
    own, teacher = "Inside ViT Ti/8 · 128 px", "ViT-Ti/16, its teacher"
    assert app.at.dataframe[1].value.to_numpy().tolist() == [
        [own, "60.8", kinds], [own, "34.1", tiny], [teacher, "61.5", kinds], [teacher, "36.9", tiny], [teacher, "75.5", whole],
        ["ViT-L/32 pre-trained on ImageNet (Table 5)", "71.16", whole],
        ["ViT-H/14 pre-trained on JFT-300M (Table 2)", "88.55", whole],
    ]  # fmt: skip
    assert "49,320 crops of 43,421 photos. The paper's data sets hold 1,300,000 to 303,000,000 photos" in said


def test_only_what_is_known_is_set_beside_the_paper():
    def said(name: str = "vit_tiny_patch16_224.augreg_in21k_ft_in1k") -> str:
        return " ".join(paper_comparison.comparison_paragraphs(next(card for card in MODEL_CARDS if card.name == name), {}))

    assert "higher than 2 of the 17 numbers" in said() and "On the same 50,000 photos" in said() and "has 5.7 M" in said()
    base = said("vit_base_patch16_224.augreg_in21k_ft_in1k")
    assert "77.91 % (ImageNet), 83.97 % (ImageNet-21k), 84.15 % (JFT-300M) (Table 5, fine-tuned at 384 px)" in base
    assert "parameters" not in base, "as large as the paper's"
    assert said("vit_small_patch16_224.dino") == "", "it names no classes"
    card = next(card for card in MODEL_CARDS if card.title == "ViT-B/16")
    assert [right for _, right, _ in paper_comparison.accuracy_comparison_rows(card, {})] == [
        "84.5",
        "71.16",
        "77.91",
        "83.97",
        "84.15",
        "88.55",
    ]
    assert paper_comparison.accuracy_comparison_rows(ModelCard("mine", "Mine", 5.0, 0, ""), {}, 1000) == []

    def own(top1: float, classes: int = 1000, views: int | None = None) -> str:
        trained = {"measured": {"accuracy mine": {"top1": top1}}, "image_views": views, "training_photos": views}
        return " ".join(paper_comparison.comparison_paragraphs(ModelCard("mine", "Mine", 5.0, 0, ""), trained, classes))

    assert own(60.0, classes=10) == ""
    assert paper_comparison.comparison_paragraphs(ModelCard("mine", "Mine", 5.0, 0, ""), {}, 1000) == []
    assert "lower than that of any" in own(71.16) and "**What differs:**" not in own(71.16), "how much it saw is not known"
    for said_of in (own(60.0), own(71.2)):
        assert said_of.startswith("**By number")
        assert said_of.count("used other photos, so the numbers can't be compared directly.**") == 1
    assert said().startswith("**The model's accuracy is higher") and "compared" not in said(), "the same photos"
    assert "**What differs:**" in own(60.0, views=5000)
    assert "**What differs:**" not in own(60.0, views=10_000_000), "as many as seven times ImageNet"
    assert "higher than 1 of the 17" in own(71.2) and "**What differs:**" not in own(71.2, views=5000), "only where it is behind"


def test_it_is_measured_watched_and_kept(lines):
    lines(profile(), profile(ONE), profile(ONE, TWO), profile(ONE, TWO, largest_batch=9, memory_gb=0.5))
    app = App("card").fine()
    assert len(app.charts()) == 1 and any("is not measured yet" in said for said in app.sentences("caption"))
    app.press("measure")
    until(lambda: speed_measurement.running_measurement() is None)
    app.run().fine()
    (said,) = [said for said in app.sentences("markdown") if "images a second" in said and "at best" in said]
    assert "processes 8 images a second** at best, with 2 in a batch. That is 40 % of 20, the limit" in said
    assert "1.6× the rate of single images" in said and "The largest batch that fits into 0.5 GB holds 9." in said
    assert "30 MB of memory for one image and 42 MB for a batch of 2." in said
    app.chart("Images a second over the batch size, and the limit of this device")
    assert any("a device, 1 thread, fp32: 100 GFLOP/s" in said for said in app.sentences("caption"))
    assert len(App("card").fine().charts()) == 2, "it is kept for the next visit"
    assert len(App("card", **{"pass": "training"}).fine().charts()) == 1, "a training is measured by itself"


def test_it_can_be_stopped_and_what_was_done_stays(lines):
    lines(profile(), profile(ONE), then="import time; time.sleep(60)")
    app = App("card").fine().press("measure")
    until(lambda: speed_measurement.running_measurement().done_count == 1)
    process = speed_measurement.running_measurement().process
    assert "measure" not in [button.key for button in app.run().fine().at.button], "two at once would slow each other"
    assert len(app.charts()) == 2 and "about" in app.at.get("progress")[0].proto.text, "what is known is seen, and what is to come"
    app.press("stop_measuring")
    until(lambda: speed_measurement.running_measurement() is None)
    assert process.poll() is not None
    app.run().fine()
    assert any(WORDS["stopped"] in said for said in app.sentences("caption")) and len(app.charts()) == 2
    assert not app.at.warning


def test_a_process_that_dies_is_said(lines):
    lines(then="raise SystemExit(3)")
    app = App("card").fine().press("measure")
    until(lambda: speed_measurement.running_measurement() is None)
    assert app.run().fine().sentences("warning") == ["The process that measured ended before it was done."]


def test_in_public_it_is_off(monkeypatch, lines):
    monkeypatch.setenv("INSIDE_VIT_PUBLIC", "1")
    app = App("card").fine()
    assert any(permissions.why_not_allowed("measurements") in said for said in app.sentences("info")) and not app.at.get(
        "select_slider"
    )
    assert app.at.code[0].value == "python -m vitcore profile vit-tiny-patch8-128"
    with pytest.raises(permissions.NotAllowedError):
        speed_measurement.start_measurement(None, False, [1], 0)


def test_sentences_follow_the_numbers():
    one = profile(TWO, BatchThroughput(4, 8.4, None), too_large=8, largest_batch=0, memory_gb=1, training=True)
    said = speed_section.speed_sentences(one, "one", WORDS)
    assert "trains on 8.4 images a second" in said and "help little here: the best rate is 5 % above" in said
    assert "MB" not in said and "A batch of 8 does not fit" in said and "Not even one image fits into 1 GB" in said


def test_what_the_model_was_taught_is_said_below_its_picker_and_on_its_card_alone():
    """Every page says it as often as a page that shows nothing of the model: none repeats it."""
    marks = ("taught by another model", "weak at naming", "cats from dogs", "a second teacher")

    def often(slug: str) -> list[int]:
        app = App(slug).fine()
        said = "\n".join(app.sentences("caption") + app.sentences("markdown"))
        return [said.lower().count(mark) for mark in marks]

    below = often("patches")
    assert min(below) >= 1
    for slug in ("overview", "attention", "rollout", "distance", "positions", "filters", "outliers", "compare"):
        assert often(slug) == below, slug
    assert often("card") == [count + 1 for count in below]


def test_the_card_says_what_was_measured_on_photos_that_nothing_was_tuned_on():
    """Figures as they stand in the JSON, the teacher's beside them, and what an AUC against outlines is."""
    trained = json.loads((asset_path("models") / f"{DEFAULT_MODEL}.json").read_text(encoding="utf-8"))["trained"]
    own, teacher = (trained[key]["pets"] for key in ("measured", "teacher_measured_alike"))
    said = " ".join(App("card").fine().sentences("markdown"))
    right = [f"{one[kind]['called_so']:.1f} %" for one in (own, teacher) for kind in ("cats", "dogs")]
    assert f"on test photos, it recognises {right[0]} of the cats and {right[1]} of the dogs" in said
    assert f"ViT-Ti/16 recognises {right[2]} of the same {own['cats']['photos']} cats and {right[3]} of the same" in said
    wrong = [trained[key]["kinds tiny64-val"]["false_cats"] for key in ("measured", "teacher_measured_alike")]
    assert (
        f"a cat for {wrong[0]['called_so']:.1f} % of the {wrong[0]['photos']:,} validation photos of Tiny ImageNet without a cat"
        f" (ViT-Ti/16: {wrong[1]['called_so']:.1f} %)" in said
    )
    aucs = own["localisation"], teacher["localisation"]
    assert f"AUC of {aucs[0]['rollout_auc']:.3f} (ViT-Ti/16: {aucs[1]['rollout_auc']:.3f}). A map that" in said
    assert "measures plausibility" in said and "not measure faithfulness" in said
    assert "trained to resemble the class token's attention in the last layer of DINOv2 S/14" in said
    labels = sum(trained["labelled_photos_of_its_teacher_m"].values())
    assert f"The teacher, ViT-Ti/16, was trained on {labels:.0f} million labelled photos." in said
    assert f"{trained['last_layer']['crops']:,} crops" in said
    cats, others = (trained[key]["kinds tiny64-val"]["cats"] for key in ("measured", "teacher_measured_alike"))
    shares = f"{cats['called_so']:.1f} % of {cats['photos']} ({others['called_so']:.1f} %)"
    assert f"| Tiny ImageNet, validation | {shares} |" in said


def test_the_card_shows_the_commands_and_which_would_give_something_else():
    trained = json.loads((asset_path("models") / f"{DEFAULT_MODEL}.json").read_text(encoding="utf-8"))["trained"]
    app = App("card").fine()
    for i, one in enumerate(trained["commands"]):
        assert app.component(f"made_{i}")["text"] == one["command"]
    said, differing = app.sentences("markdown"), [one["differs"] for one in trained["commands"] if one["differs"]]
    assert len(differing) == 2 and all(one in said for one in differing)
    assert "held out crops, not photos" in differing[1]
