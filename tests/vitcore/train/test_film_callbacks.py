"""Films of trainings that Lightning and transformers run: the real ones, on a few random images."""

import copy

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from vitcore.train import film_files, run_folder

STEPS = 6


@pytest.fixture(scope="module")
def images() -> TensorDataset:
    generator = torch.Generator().manual_seed(0)
    return TensorDataset(torch.randn(24, 3, 32, 32, generator=generator), torch.arange(24) % 10)


def left(module: nn.Module) -> dict[str, torch.Tensor]:
    return {name: value.clone() for name, value in module.state_dict().items()}


def is_a_film(folder, names=("picture",)) -> film_files.Film:
    """What every finished film must be; returns it."""
    film = film_files.film_of_run(folder)
    assert film.steps[0] == 0 and film.steps[-1] == STEPS and film.names == names
    assert (film.arrays["kernel"][0] != film.arrays["kernel"][-1]).any()
    assert np.isfinite(film.arrays["distance_px"]).all()
    said = run_folder.read_status_and_check_alive(run_folder.RunFolder(folder))
    assert (said["state"], said["step"]) == ("finished", STEPS)
    return film


def test_lightning(make_module, images, tmp_path, noise):
    lightning = pytest.importorskip("lightning", reason="the package lightning is not installed (requirements-dev.txt)")
    from vitcore.train.film.lightning_callback import FilmCallback

    class Classifier(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.net = make_module(proj_drop_rate=0.1).train()

        def training_step(self, batch, index):
            return nn.functional.cross_entropy(self.net(batch[0]), batch[1])

        def validation_step(self, batch, index):
            logits = self.net(batch[0])
            self.log("val_loss", nn.functional.cross_entropy(logits, batch[1]))
            self.log("val_acc", (logits.argmax(-1) == batch[1]).float().mean())

        def configure_optimizers(self):
            return torch.optim.AdamW(self.parameters(), 1e-3)

    def train(*callbacks):
        lightning.seed_everything(0, verbose=False)
        trainer = lightning.Trainer(
            max_epochs=2, accelerator="cpu", callbacks=list(callbacks), logger=False, enable_checkpointing=False,
            enable_progress_bar=False, enable_model_summary=False, log_every_n_steps=1, default_root_dir=tmp_path,
        )  # fmt: skip
        model = Classifier()
        trainer.fit(model, DataLoader(images, 8, shuffle=True), DataLoader(images, 8))
        return left(model)

    alone, beside = train(), train(FilmCallback(tmp_path / "runs" / "mine", noise()))
    assert all(torch.equal(value, beside[name]) for name, value in alone.items())
    film = is_a_film(tmp_path / "runs" / "mine")
    assert [r["step"] for r in film.log if "val_loss" in r] == [3, 6] and film.log[0]["loss"] > 0
    assert film.accuracy()[0] == 6 and 0 <= film.accuracy()[1] <= 100

    class Fails(lightning.Callback):
        def on_train_batch_end(self, *args):
            raise ValueError("out of luck")

    with pytest.raises(ValueError, match="luck"):
        train(FilmCallback(tmp_path / "runs" / "broken", noise()), Fails())
    said = run_folder.read_status_and_check_alive(run_folder.RunFolder(tmp_path / "runs" / "broken"))
    assert (said["state"], said["message"]) == ("failed", "out of luck")


def test_transformers(images, tmp_path, noise):
    transformers = pytest.importorskip("transformers", reason="the package transformers is not installed")
    pytest.importorskip("accelerate", reason="transformers' Trainer needs the package accelerate")
    from vitcore.train.film.transformers_callback import FilmCallback

    shape = {"img_size": 32, "patch_size": 8, "embed_dim": 24, "depth": 2, "num_heads": 3, "proj_drop_rate": 0.1}
    config = transformers.TimmWrapperConfig(architecture="vit_tiny_patch16_224", model_args=shape, num_labels=10)
    begun = transformers.TimmWrapperForImageClassification(config)
    data = [{"pixel_values": x, "labels": y} for x, y in images]

    def train(*callbacks):
        model = copy.deepcopy(begun)
        args = transformers.TrainingArguments(
            output_dir=str(tmp_path / "out"), max_steps=STEPS, per_device_train_batch_size=4, logging_steps=1,
            eval_strategy="steps", eval_steps=3, save_strategy="no", report_to=[], use_cpu=True, disable_tqdm=True,
        )  # fmt: skip
        right = lambda found: {"accuracy": float((found.predictions.argmax(-1) == found.label_ids).mean())}  # noqa: E731
        transformers.Trainer(
            model, args, train_dataset=data, eval_dataset=data, compute_metrics=right, callbacks=list(callbacks)
        ).train()
        return left(model)

    alone, beside = train(), train(FilmCallback(tmp_path / "runs" / "mine", noise()))
    assert all(torch.equal(value, beside[name]) for name, value in alone.items())
    film = is_a_film(tmp_path / "runs" / "mine")
    assert [r["step"] for r in film.log if "val_loss" in r] == [3, 6] and film.accuracy()[0] == 6
    assert film.log[0]["loss"] > 0 and "lr" in film.log[0]
