"""A training of one's own, filmed: the run it leaves, when frames are taken, and that the training is as it was without."""

import copy
import json
import random
import warnings

import numpy as np
import pytest
import torch
from torch import nn
from torch.optim.swa_utils import AveragedModel

import vitcore
from vitcore.models.assembly.frozen_copy import frozen_copy_without_hooks
from vitcore.train import film_files, run_folder
from vitcore.train.film.compute_frame import film_frame_from_recordings
from vitcore.train.film.film_writer import FilmWriter
from vitcore.train.film.find_vit import find_vit
from vitcore.train.film.frame_spacing import FrameScheduler
from vitcore.train.recipe import FILMED
from vitcore.train.run_folder import RunError
from vitcore.train.trainer.run_training import run_training


@pytest.fixture
def film(tmp_path, noise):
    """`film(steps=…, …)`: a film of two photos in tmp, closed when the test ends."""
    made: list[FilmWriter] = []

    def begin(run="mine", **settings) -> FilmWriter:
        made.append(vitcore.film(tmp_path / "runs" / run, [noise(0), noise(1)], **settings))
        return made[-1]

    yield begin
    for one in made:
        one.close()


class Net(nn.Module):
    """What a person trains: a ViT of timm's after layers that keep running means and draw random numbers."""

    def __init__(self, vit: nn.Module) -> None:
        super().__init__()
        self.before = nn.Sequential(nn.Conv2d(3, 3, 1), nn.BatchNorm2d(3), nn.Dropout(0.1))
        self.vit = vit
        self.calls = 0
        vit.blocks[0].register_forward_hook(self.note)

    def note(self, *seen) -> None:
        self.calls += 1

    def forward(self, x):
        return self.vit(self.before(x))


def trained(vit: nn.Module, film: FilmWriter | None, steps: int = 6) -> dict:
    """Train a Net, with every kind of randomness in its loop; all that is left of it afterwards."""
    random.seed(1), np.random.seed(1), torch.manual_seed(1)  # noqa: NPY002
    net = Net(copy.deepcopy(vit)).train()
    average = AveragedModel(net)
    optimiser = torch.optim.AdamW(net.parameters(), 1e-3)
    drawn, modes = [], []
    for step in range(steps):
        drawn += [random.random(), np.random.rand(), torch.rand(()).item()]  # noqa: NPY002
        x, y = torch.randn(4, 3, 32, 32), torch.randint(10, (4,))
        loss = nn.functional.cross_entropy(net(x), y)
        loss.backward()
        if film and step == 3:  # gradients are there, and autocast is on
            with torch.autocast("cpu", torch.bfloat16):
                film.frame(net, step, last=True, loss=loss)
        elif film:
            film.frame(net, step, last=True, loss=loss)
        modes += [(part.training, *(p.requires_grad for p in part.parameters(recurse=False))) for part in net.modules()]
        grads = {f"grad {name}": p.grad.clone() for name, p in net.named_parameters()}
        optimiser.step()
        optimiser.zero_grad()
        average.update_parameters(net)
    states = {**net.state_dict(), **{f"average {k}": v for k, v in average.state_dict().items()}, **grads}
    hooks = [[len(v) for k, v in vars(part).items() if "_hooks" in k] for part in net.modules()]
    return {"states": states, "drawn": drawn, "modes": modes, "calls": net.calls, "hooks": hooks, "random": torch.get_rng_state()}


def test_a_training_ends_as_it_does_without_a_film(make_module, film):
    vit = make_module(proj_drop_rate=0.1, attn_drop_rate=0.1)
    alone = trained(vit, None)
    writer = film()
    with warnings.catch_warnings(action="error"):
        beside = trained(vit, writer)
    assert len(film_files.film_of_run(writer.folder.path).steps) == 6
    for name, state in alone.pop("states").items():
        assert torch.equal(state, beside["states"][name]), name
    assert torch.equal(alone.pop("random"), beside.pop("random"))
    assert alone == {name: beside[name] for name in alone}


def test_the_run_is_what_watch_it_learn_reads(make_module, film):
    vit = make_module()
    writer = film(steps=100, labels=[f"kind {i}" for i in range(10)])
    assert writer.frame(nn.Sequential(vit).train(), 0, loss=2.0)
    assert not writer.frame(vit, 0), "a step has one frame"
    while_it_goes_on = film_files.film_of_run(writer.folder.path)
    assert while_it_goes_on.steps.tolist() == [0] and run_folder.read_status_and_check_alive(writer.folder)["state"] == "running"
    with torch.no_grad():
        vit.pos_embed.mul_(2)
    writer.frame(vit, 100, val_loss=1.5, top1=40)
    writer.frame(vit, 100, lr=torch.tensor(0.5))
    writer.close()
    assert run_folder.read_status_and_check_alive(writer.folder)["state"] == "finished" and not run_folder.is_training(
        writer.folder
    )
    found = film_files.film_of_run(writer.folder.path)
    assert (found.task, found.steps.tolist(), found.names) == (FILMED, [0, 100], ("picture", "picture 2"))
    assert found.classes[3] == "kind 3" and found.grid == vitcore.Grid(4, 4, 8)
    assert found.log == [{"step": 0, "loss": 2.0}, {"step": 100, "val_loss": 1.5, "top1": 40.0, "lr": 0.5}]
    with torch.no_grad():
        same = vitcore.wrap(vit.eval(), name="same")
        for name, array in film_frame_from_recordings(same, [vitcore.record(same, one) for one in writer.photos]).items():
            np.testing.assert_array_equal(found.arrays[name][1], array, err_msg=name)
    assert (found.arrays["positions"][1] != found.arrays["positions"][0]).any()
    assert not writer.frame(vit, 200), "what comes after the end is not filmed"
    with pytest.raises(RunError, match="go on with that"):
        run_training(writer.folder, print)


def test_its_normalisation_can_be_told(make_module, film):
    module, tops = make_module(), []
    for run, settings in (("a", {}), ("b", {"mean": (0, 0, 0), "std": (1, 1, 1)})):
        writer = film(run, **settings)
        writer.frame(module, 0)
        tops.append(film_files.film_of_run(writer.folder.path).arrays["top_p"])
    assert (tops[0] != tops[1]).any()


@pytest.mark.parametrize(("module", "reason"), [
    (lambda vit: nn.Linear(2, 2), "not a plain Vision Transformer"),
    (lambda vit: nn.utils.parametrizations.weight_norm(nn.Conv2d(3, 3, 1)), "not a plain Vision Transformer"),
    (lambda vit: vit(embed_dim=48), "another shape"),
    (lambda vit: vit(num_classes=3), "3 classes, not 10"),
])  # fmt: skip
def test_a_frame_that_fails_is_a_warning(make_module, film, module, reason):
    writer = film(labels=[str(i) for i in range(10)])
    writer.frame(make_module(), 0)
    with pytest.warns(RuntimeWarning, match=f"step 1 could not be kept: .*{reason}"):
        assert not writer.frame(module(make_module), 1, last=True)
    assert writer.frame(make_module(), 2, last=True), "the next one is kept"


def test_a_disk_that_is_full_and_warnings_that_are_errors_end_nothing(make_module, film, monkeypatch, caplog):
    writer = film()
    writer.frame(make_module(), 0)

    def full(*args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(run_folder, "replace_file_atomically", full)
    monkeypatch.setattr("vitcore.train.film.film_writer.save_frame", full)
    with warnings.catch_warnings(action="error"):
        assert not writer.frame(make_module(), 1, last=True)
    assert "No space left" in caplog.text


def test_names_and_photos_are_refused_before_the_training_begins(make_module, film, new_run, tmp_path):
    film()
    with pytest.raises(RunError, match="already"):
        film()
    with pytest.raises(vitcore.PhotoError, match=r"gone\.jpg"):
        vitcore.film(tmp_path / "runs" / "x", [tmp_path / "gone.jpg"])
    with pytest.raises(RunError, match="can't be a run's name"):
        film("no name!")
    new_run("theirs")
    with pytest.raises(RunError, match="no film of a training of your own"):
        film("theirs", resume=True)


def test_a_film_goes_on_where_a_training_was_resumed(make_module, film):
    first = film()
    for step in range(4):
        first.frame(make_module(step), step, last=True, val_loss=step)
    first.close("stopped")
    again = film(resume=True)
    for step in (2, 3):  # from a checkpoint of step 1
        again.frame(make_module(9), step, last=True, val_loss=9)
    found = film_files.film_of_run(again.folder.path)
    assert found.steps.tolist() == [0, 1, 2, 3] and [r["val_loss"] for r in found.log] == [0, 1, 9, 9]
    np.testing.assert_array_equal(found.arrays["positions"][2], found.arrays["positions"][3])
    assert (found.arrays["positions"][1] != found.arrays["positions"][2]).any()


def test_a_film_tells_how_it_ended(make_module, film):
    with pytest.raises(ZeroDivisionError), film("a") as failed:
        failed.frame(make_module(), 0)
        1 / 0  # noqa: B018
    with pytest.raises(KeyboardInterrupt), film("b") as stopped:
        raise KeyboardInterrupt
    said = [run_folder.read_status_and_check_alive(one.folder) for one in (failed, stopped)]
    assert [(s["state"], s["message"]) for s in said] == [("failed", "division by zero"), ("stopped", "")]


def test_only_the_first_process_films(make_module, film, monkeypatch, tmp_path):
    monkeypatch.setenv("RANK", "1")
    assert not film().frame(make_module(), 0)
    assert not (tmp_path / "runs").exists()


def test_a_stand_in_answers_as_the_model_and_is_nobodys():
    """Whatever is in a model's way while it trains: compiled blocks, forwards put in place, other kinds of numbers."""
    from tests.conftest import timm_vit

    vit = timm_vit(reg_tokens=2).double()
    x = torch.randn(2, 3, 32, 32)
    expected = vit(x.double())
    vit.blocks[1] = torch.compile(vit.blocks[1], backend="eager")
    vit.forward = lambda *args: pytest.fail("the training's own forward")
    vit.set_grad_checkpointing()
    vit.train().register_forward_pre_hook(lambda *args: pytest.fail("the training's own hook"))
    found = find_vit(torch.compile(nn.Sequential(vit), backend="eager"))
    twin = frozen_copy_without_hooks(found, device="cpu", dtype=torch.float32)
    torch.testing.assert_close(twin(x).double(), expected, atol=1e-4, rtol=1e-4)
    theirs = {p.data_ptr() for p in [*vit.parameters(), *vit.buffers()]}
    assert not theirs & {p.data_ptr() for p in [*twin.parameters(), *twin.buffers()]}
    assert vit.training and vit.grad_checkpointing and all(p.requires_grad for p in vit.parameters())


# When


class Clock:
    """Time that passes when it is told."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def told(steps: int | None, length: int, step_s: float, frame_s: float, slow_s: float = 0.0) -> tuple[list[int], float]:
    """The steps whose frames are kept of a training of so many seconds a step, and the share of the time they took."""
    clock = Clock()
    spacing = FrameScheduler(steps, clock=clock)
    kept = []
    for step in range(length + 1):
        clock.now += (step_s + (slow_s if step == 1 else 0)) if step else 0
        due = spacing.is_due(step, last=step == length)
        clock.now += frame_s * due
        spacing.add_duration(step, frame_s * due, due)
        kept += [step] if due else []
    return kept, spacing.spent_s / clock.now


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize(("length", "step_s", "frame_s"), [(10_000, 0.5, 1.0), (10_000, 0.02, 1.0), (2000, 0.1, 0.001)])
def test_frames_are_few_and_far_between_and_take_two_percent(known, length, step_s, frame_s):
    kept, share = told(length if known else None, length, step_s, frame_s)
    assert kept[0] == 0 and kept[-1] == length and share <= 0.02
    cheap = 24 * frame_s < 0.02 * length * step_s
    if known and cheap:
        assert set(kept) == film_files.geometrically_spaced_steps(length, 24)
    elif cheap:
        assert 10 <= len(kept) <= 30
    else:
        assert 2 <= len(kept) <= 0.02 * length * step_s / frame_s


def test_a_first_step_that_compiles_is_no_measure_of_the_others():
    assert told(2000, 2000, 0.1, 0.5, slow_s=60)[1] <= 0.02


def test_few_steps_are_all_kept_where_time_allows():
    assert told(5, 5, 100, 0.1)[0] == [0, 1, 2, 3, 4, 5]


def test_the_recipe_says_no_more_than_is_known(film):
    assert json.loads((film(steps=7).folder.path / "recipe.json").read_text()) == {"version": 2, "task": FILMED, "steps": 7}
