"""A model that a visitor brings: what was found, what is asked, opened for every page, for them alone; bad files leave nothing."""

import io
import json
import pickle
import time
import zipfile

import pytest
import torch
from safetensors.torch import save, save_file
from streamlit import config
from streamlit.runtime import Runtime
from visitor import App

import vitcore
from app import permissions, texts
from app.state.memory import memory_cache, visitor_storage
from app.state.models import loaded_models, model_menu, uploaded_model
from vitcore.models import load_model

TEXT = texts.prose("bring", "en")
pytestmark = pytest.mark.usefixtures("disk")
IDS = ["beagle", "castle", "cat", "daisy", "frog", "kite", "lynx", "mug", "owl", "pier"]


@pytest.fixture(scope="module")
def weights(make_module) -> dict[str, torch.Tensor]:
    """A model of 4 × 4 patches of 8 px, by timm's names, with no card: the number of its heads is nowhere."""
    return {name: w.clone() for name, w in make_module().state_dict().items()}


@pytest.fixture(scope="module")
def good(weights) -> bytes:
    return save(weights)


@pytest.fixture(autouse=True)
def large_uploads():
    """As the app's own settings say; a public server of another test has lowered it."""
    before = config.get_option("server.maxUploadSize")
    config.set_option("server.maxUploadSize", 500)
    yield
    config.set_option("server.maxUploadSize", before)


def drop(app: App, name: str, data: bytes) -> App:
    return app.upload(name, data, app.key_of("own_model_"))


def opened(app: App) -> load_model.Vit:
    """The model that this visitor has opened."""
    return loaded_models.loaded_model(memory_cache.CACHE.peek((uploaded_model.STORE_KEY, app.at.session_state["_visitor"])).version)


def popovers(app: App) -> list[str]:
    """What the title row says of assumed settings."""
    blocks = [block.proto.popover.label for block in app.at.get("popover")]
    return [label for label in blocks if label.startswith("assumed: ")]


def test_a_file_is_found_out_asked_about_and_opened_for_every_page(good, disk, make_module):
    app = drop(App("bring").fine(), "my-vit.safetensors", good).fine()
    shown = app.text()
    assert not app.at.error and "my-vit.safetensors" in shown
    assert "| width | 24 |" in shown and "| patch | 8×8 px |" in shown and "| grid | 4×4, 32×32 px |" in shown
    heads = app.controls[app.key_of("own_heads")]
    assert "3" in heads.options and any(TEXT["likely"] in option for option in heads.options)
    assert any(path.name == "my-vit.safetensors" for path in disk.rglob("*")), "it waits on disk"

    app.set(**{app.key_of("own_heads"): "3"}).fine()
    app.press("own_open")
    assert not app.at.error, app.sentences("error")
    app.go("rollout").fine()
    assert app.values()["model"] == uploaded_model.MODEL_ID and len(app.component("gathered")["values"]) == 16
    assert any("my-vit.safetensors" in caption for caption in app.sentences("caption"))
    vit = opened(app)
    module, photo = make_module(), torch.rand(1, 3, 32, 32)
    assert vit.heads == 3 and torch.equal(vit.module(photo), module(photo)), "the very weights"
    assert (vit.display_name, vit.card.title) == ("my-vit.safetensors", "my-vit")
    assert uploaded_model.MODEL_ID not in app.text() and "my-vit (yours)" in app.controls["model"].options
    for slug in ("overview", "attention", "report"):
        assert app.go(slug).fine().values()["model"] == uploaded_model.MODEL_ID and not app.at.warning
    visitor = app.at.session_state["_visitor"]
    assert visitor not in app.text(), "a visitor's name stays a secret"

    app.go("bring").fine().press("own_forget")
    kept = [k for k in memory_cache.CACHE.keys() if visitor in str(k) and uploaded_model.MODEL_ID in str(k)]
    assert list(disk.iterdir()) == [] == kept
    assert app.go("rollout").fine().values()["model"] != uploaded_model.MODEL_ID


def test_answers_that_nobody_gave_stand_as_assumed_until_they_are_confirmed(good):
    app = drop(App("bring").fine(), "mine.safetensors", good).fine()
    assert {"own_crop", "own_interpolation"} <= {k.rsplit("_", 2)[0] for k in app.controls if k.startswith("own_")}
    app.set(**{app.key_of("own_heads"): "3"}).fine()
    app.press("own_open")
    assumed = opened(app).assumed
    assert assumed["activation"] == "gelu" and assumed["crop"] == "center"
    for page in ("overview", "rollout"):
        shown = app.go(page).fine().text("markdown")
        assert "not proven" in shown and "activation=gelu" in shown and popovers(app), page
    assert "trained model" not in app.go("overview").text("caption"), "nobody knows"
    app.go("bring").fine().set(**{app.key_of("own_confirm"): True}).fine()
    app.press("own_open")
    assert not opened(app).assumed
    assert "not proven" not in app.go("rollout").fine().text("markdown") and not popovers(app)


def test_nobody_else_opens_it_and_a_link_says_that_it_is_missing(good):
    app = drop(App("bring"), "mine.safetensors", good)
    app.press("own_open")
    for address in (uploaded_model.MODEL_ID, "mine（你的）", "vit_tiny_patch16_224 (yours)"):
        other = App("rollout", model=address).fine()
        assert other.values()["model"] != uploaded_model.MODEL_ID and len(other.component("gathered")["values"]) == 256
        assert any("not here" in s for s in other.sentences("markdown")), "and where to bring it again"
        assert not other.at.warning
    other = App("rollout", model=opened(app).name).fine()
    assert other.at.warning and len(other.component("gathered")["values"]) == 256


def test_all_of_it_is_gone_with_the_visitor(good, disk, monkeypatch):
    app = drop(App("bring"), "mine.safetensors", good).press("own_open")
    visitor = app.at.session_state["_visitor"]
    assert list(disk.iterdir())
    monkeypatch.setattr(visitor_storage.runtime, "exists", lambda: False)
    assert (
        visitor in visitor_storage.departed_visitors(time.monotonic() + visitor_storage.SILENCE_S + 1)
        and visitor_storage.SILENCE_S <= 30 * 60
    )
    visitor_storage.forget_visitor(visitor)
    assert list(disk.iterdir()) == [] and not [k for k in memory_cache.CACHE.keys() if visitor in str(k)]


class Harmful:
    def __reduce__(self):
        return print, ("this must not run",)


def zipped(**entries: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in entries.items():
            archive.writestr(name, data)
    return file.getvalue()


def bad(good: bytes, weights: dict[str, torch.Tensor]) -> dict[str, bytes]:
    torn = io.BytesIO()
    torch.save({"model": Harmful()}, torn)
    return {
        "cut.safetensors": good[: len(good) // 2],
        "long.safetensors": (3 * 10**9).to_bytes(8, "little") + b"{}",
        "code.pth": torn.getvalue(),
        "old.bin": pickle.dumps({"w": Harmful()}),
        "notes.txt": b"This is no model.\n" * 9,
        "empty.pt": b"",
        "bomb.npz": zipped(**{"w.npy": bytes(80 * 2**20)}),
        "bomb.zip": zipped(**{"model.safetensors": bytes(110 * 2**20), "config.json": b"{}"}),
        "torn.zip": zipped(**{"model.safetensors": good})[:-30],
        "photos.zip": zipped(**{"a.jpg": b"x" * 99}),
        "language.safetensors": save({"embed_tokens.weight": torch.zeros(8, 4)}),
        "../../up\x00.safetensors": b"x" * 64,
    }


def test_a_bad_file_is_one_sentence_leaves_nothing_and_the_next_one_works(good, weights, disk, monkeypatch, capsys):
    monkeypatch.setenv("INSIDE_VIT_PUBLIC", "1")  # 100 MB are the limit
    app = App("bring").fine()
    for name, data in bad(good, weights).items():
        drop(app, name, data).fine()
        (sentence,) = app.sentences("error")
        assert sentence.endswith((".", "it.")) and "\n" not in sentence and len(sentence) < 330, name
        assert not any(word in sentence for word in ("Traceback", "0x", str(disk), "Errno")), sentence
        assert list(disk.iterdir()) == [], name
    assert "this must not run" not in capsys.readouterr().out
    drop(app, "good.safetensors", good).fine()
    assert not app.at.error and "good.safetensors" in app.text()
    drop(app, "notes.txt", b"no model").fine()
    assert app.at.error and "good.safetensors" in app.text(), "the one there was stays"


def test_what_does_not_fit_is_listed_and_not_opened(weights):
    damaged = dict(weights)
    damaged["blocks.0.attn.proj.weight"] = torch.zeros(5, 24)
    del damaged["blocks.1.norm1.bias"]
    app = drop(App("bring"), "odd.safetensors", save(damaged)).fine()
    (error,) = app.sentences("error")
    assert "2 tensors do not fit" in error and "own_open" not in {b.key for b in app.at.button}
    assert "misshapen: blocks.0.attn.proj.weight is 5×24, not 24×24" in app.text()
    assert "missing: blocks.1.norm1.bias" in app.text()
    spoiled = dict(weights) | {"norm.weight": torch.full((24,), float("nan"))}
    app = drop(app, "nan.safetensors", save(spoiled)).press("own_open")
    assert "no numbers" in app.sentences("error")[0] and app.at.title[0].value == texts.prose("menu", "en")["bring"]


def test_too_large_a_file_is_refused_by_the_server_itself(monkeypatch, disk):
    class Upload(io.BytesIO):
        name, file_id, size = "large.safetensors", "x", 101 * 2**20

    assert permissions.upload_limit_mb() == 500
    monkeypatch.setenv("INSIDE_VIT_PUBLIC", "1")
    permissions.limit_streamlit_uploads()
    assert config.get_option("server.maxUploadSize") == permissions.upload_limit_mb() == 100, "Streamlit takes no more"
    monkeypatch.setattr(texts, "language", lambda: "en")
    upload = Upload(b"x")
    assert "100 MB" in str(uploaded_model.move_model_upload_to_disk(upload)) and upload.closed and list(disk.iterdir()) == []


def test_ids_of_the_hub_are_off_in_public(monkeypatch):
    asked = []
    monkeypatch.setattr("vitcore.models.hub_folder.fetch_hub_folder", lambda name, *_: asked.append(name))
    monkeypatch.setenv("INSIDE_VIT_PUBLIC", "1")
    app = App("bring").fine()
    assert "own_hub" not in app.controls and texts.prose("common", "en")["off downloads"] in app.text()
    monkeypatch.setattr(texts, "language", lambda: "en")
    with pytest.raises(permissions.NotAllowedError):
        uploaded_model.fetch_hub_model("owner/name", print)
    assert asked == []


def test_an_id_of_the_hub_is_brought_like_a_file(monkeypatch, tmp_path, weights):
    folder = tmp_path / "snapshot"
    folder.mkdir()
    save_file(weights, folder / "model.safetensors")
    monkeypatch.setattr("vitcore.models.hub_folder.fetch_hub_folder", lambda name, *_: folder)
    pasted = " https://huggingface.co/someone/some-vit/blob/main/config.json"
    app = App("bring").set(own_hub=pasted).fine()
    app.press("own_fetch")
    assert "hf-hub:someone/some-vit" in app.text() and not app.at.error
    app.press("own_open")
    assert app.go("patches").fine().values()["model"] == uploaded_model.MODEL_ID
    app.go("bring").press("own_forget")
    assert (folder / "model.safetensors").exists(), "the cache of the hub is not the visitor's"


def test_a_directory_in_a_zip_needs_no_answers_and_brings_its_labels(tmp_path, disk):
    """transformers' own, with heads, ε, activation and id2label in its config.json."""
    transformers = pytest.importorskip("transformers")
    config = transformers.ViTConfig(hidden_size=24, num_hidden_layers=2, num_attention_heads=2, intermediate_size=48,
                                    image_size=32, patch_size=8, id2label=dict(enumerate(IDS)))  # fmt: skip
    transformers.ViTForImageClassification(config).save_pretrained(tmp_path / "hf")
    there = {f"hf/{f.name}": f.read_bytes() for f in (tmp_path / "hf").iterdir()}
    app = drop(App("bring"), "hf.zip", zipped(**there | {"../../evil.json": b"{}", "hf/run.py": b"print()"})).fine()
    assert sorted(f.suffix for f in disk.rglob("*.*") if f.is_file()) == [".json", ".safetensors"]
    assert not any(k.startswith(("own_heads", "own_eps")) for k in app.controls) and "beagle, castle" in app.text()
    app.press("own_open")
    assert opened(app).labels == tuple(IDS) and opened(app).heads == 2


def test_labels_and_another_size(good):
    app = drop(App("bring"), "mine.safetensors", good).fine()
    app.upload("few.txt", b"one\ntwo\n", app.key_of("own_labels_")).fine()
    assert app.sentences("error") == [TEXT.fill("labels count", count=2, classes=10)]
    app.upload("names.json", json.dumps(IDS).encode(), app.key_of("own_labels_")).fine()
    assert not app.at.error and "beagle, castle" in app.text()
    app.set(**{app.key_of("own_resize"): True}).fine()
    app.set(**{app.key_of("own_high"): 48, app.key_of("own_wide"): 64, app.key_of("own_way"): "paper"}).fine()
    app.press("own_open")
    vit = opened(app)
    assert (vit.grid.rows, vit.grid.cols) == (6, 8) and vit.labels == tuple(IDS)
    assert app.go("patches").fine().component("split")["cols"] == 8


def test_the_paper_s_names_are_taken(monkeypatch, kinds, offer):
    name = "vit_small_r26_s32_224.augreg_in21k_ft_in1k"
    offer({name: vitcore.wrap(kinds["registers"].module, name=name)})
    for address in ("R26+S/32", "r26+vit-s/32"):
        assert App("patches", model=address).fine().values()["model"] == name
    app = App("patches").set(model="R26+S/32").fine()
    assert app.values()["model"] == name and not app.at.warning
    assert "no trained weights" in App("patches", model="ViT-Ti/8").fine().sentences("warning")[0]
    assert model_menu.resolve_model_name("ViT-S/16") == "vit_small_patch16_224.augreg_in21k_ft_in1k"
    assert model_menu.resolve_model_name("../x") == "../x"


def test_what_was_dropped_is_let_go_of_by_streamlit(good):
    """One copy while it is written to disk, none after: not the record, not the page's."""
    from app_server import Visit, served

    with served() as address:
        visit = Visit(address).open("bring")
        uploader = next(k for k in visit.ids if k.startswith("own_model_"))
        visit.upload(uploader, "mine.safetensors", good)
        assert Runtime.instance().uploaded_file_mgr.get_files(visit.session, ["file-mine.safetensors"]) == []
        visit.states.pop(uploader, None)
        assert "mine.safetensors" in visit.open("bring").text
        other = Visit(address).open("bring", f"model={uploaded_model.MODEL_ID}")
        assert "mine.safetensors" not in other.text
        for one in (visit, other):
            one.close()


def test_positions_by_offset_have_a_picture(monkeypatch, offer):
    """Relative position bias, and RoPE: the kernel falls off evenly to all sides, 1 at no offset."""
    import timm

    small = {"img_size": 48, "embed_dim": 32, "depth": 2, "num_heads": 2, "num_classes": 10}
    bias = timm.create_model("beit_base_patch16_224", **small).eval()
    torch.nn.init.normal_(bias.blocks[1].attn.relative_position_bias_table)
    rope = timm.create_model("vit_small_patch16_rope_224", **small).eval()
    offer(bias=vitcore.wrap(bias, name="bias"), rope=vitcore.wrap(rope, name="rope"))
    app = App("positions", model="bias", offset_layer="1", offset_head="1").fine()
    assert not app.at.info and len(app.charts()) == 1
    expected = bias.blocks[1].attn._get_rel_pos_bias()[0, 1, 1 + 4, 1:].detach()
    found = load_model.relative_positions(vitcore.wrap(bias, name="bias"), 1).values[1]
    assert torch.allclose(torch.from_numpy(found), expected)
    (chart,) = App("positions", model="rope").fine().charts()
    assert chart["alt"]
    kernel = load_model.relative_positions(vitcore.wrap(rope, name="rope"), 0).values[0].reshape(3, 3)
    assert kernel[1, 1] == pytest.approx(1) and kernel.max() == pytest.approx(1)
    assert kernel[0, 1] == pytest.approx(kernel[2, 1]) and kernel[1, 0] == pytest.approx(kernel[1, 2])
