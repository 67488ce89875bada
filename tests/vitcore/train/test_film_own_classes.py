"""transformers' own classes, trained by its Trainer: they are filmed, or refused in a sentence before the first step."""

import pytest
import torch

from vitcore.models.model_cards import ModelError
from vitcore.train import film_files, run_folder

transformers = pytest.importorskip("transformers", reason="the package transformers is not installed (requirements-dev.txt)")
pytest.importorskip("accelerate", reason="transformers' Trainer needs the package accelerate")

STEPS = 2
SHAPE = {"hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": 3, "image_size": 32, "patch_size": 8, "num_labels": 5}
FILMED = {
    "ViTForImageClassification": ("ViTConfig", SHAPE | {"intermediate_size": 48}),
    "Dinov2ForImageClassification": ("Dinov2Config", SHAPE | {"mlp_ratio": 2}),
}
REFUSED = {
    "SwinForImageClassification": ("SwinConfig", {"image_size": 32, "patch_size": 4, "embed_dim": 12, "depths": [1, 1],
                                                  "num_heads": [1, 2], "window_size": 4, "num_labels": 5}),
    "ResNetForImageClassification": ("ResNetConfig", {"embedding_size": 8, "hidden_sizes": [8, 8], "depths": [1, 1],
                                                      "num_labels": 5}),
}  # fmt: skip


def train(name, config, settings, folder, noise, **options):
    """Train such a model for a few steps under a FilmCallback; the model."""
    from vitcore.train.film.transformers_callback import FilmCallback

    model = getattr(transformers, name)(getattr(transformers, config)(**settings))
    generator = torch.Generator().manual_seed(0)
    data = [{"pixel_values": torch.randn(3, 32, 32, generator=generator), "labels": i % 5} for i in range(8)]
    args = transformers.TrainingArguments(
        output_dir=str(folder / "out"), max_steps=STEPS, per_device_train_batch_size=4, logging_steps=1, save_strategy="no",
        report_to=[], use_cpu=True, disable_tqdm=True, **options,
    )  # fmt: skip
    transformers.Trainer(model, args, train_dataset=data, callbacks=[FilmCallback(folder / "runs" / "mine", noise())]).train()
    return model


@pytest.mark.parametrize(("name", "bf16"), [("ViTForImageClassification", True), ("Dinov2ForImageClassification", False)])
def test_a_class_of_transformers_is_filmed(name, bf16, tmp_path, noise):
    model = train(name, *FILMED[name], tmp_path, noise, bf16=bf16)
    film = film_files.film_of_run(tmp_path / "runs" / "mine")
    assert film.steps.tolist() == [0, 2] and len(film.classes) == 5
    assert (film.arrays["kernel"][0] != film.arrays["kernel"][-1]).any()
    assert all(p.requires_grad for p in model.parameters())
    assert run_folder.read_status_and_check_alive(run_folder.RunFolder(tmp_path / "runs" / "mine"))["state"] == "finished"


@pytest.mark.parametrize("name", REFUSED)
def test_another_class_is_refused_before_the_first_step(name, tmp_path, noise):
    with pytest.raises(ModelError) as refused:
        train(name, *REFUSED[name], tmp_path, noise)
    assert "so a film is not defined for it." in str(refused.value)
    assert not (tmp_path / "runs").exists(), "nothing is left of a film that could not begin"
