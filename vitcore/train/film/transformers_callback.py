"""A callback that films a training of transformers' Trainer: `Trainer(…, callbacks=[FilmCallback("runs/mine", photos)])`.

Needs the package `transformers` (`pip install inside-vit[transformers]`). The model is one that `vitcore.wrap` takes: of
transformers' own (`ViTForImageClassification`, …) or of timm's, in `TimmWrapperForImageClassification` or a class of your own.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from vitcore.train.film.film_writer import FilmWriter, Pictures, film

METRIC_NAMES = {"loss": "loss", "learning_rate": "lr", "eval_loss": "val_loss", "eval_accuracy": "top1"}  # their names, ours
IN_PERCENT = ("top1", "top5")


class FilmCallback(TrainerCallback):
    """Films what a Trainer trains; settings are those of `vitcore.film`.

    The number of steps is the Trainer's. `measured` says which of the numbers that the Trainer logs the film keeps, and
    as what: `loss`, `lr`, `val_loss`, or `top1` and `top5`, which `compute_metrics` gives as shares from 0 to 1.
    """

    def __init__(
        self, run: str | Path, photos: Sequence[Pictures] | Pictures | None = None, *,
        measured: Mapping[str, str] = METRIC_NAMES, **settings: Any,
    ) -> None:  # fmt: skip
        self.run, self.photos, self.measured, self.settings = run, photos, measured, settings
        self.film: FilmWriter | None = None
        self.model: Any = None

    def on_train_begin(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any) -> None:
        """Begin the film with the model as it is before its first step. Raises: ModelError, where it can't be filmed."""
        if not state.is_world_process_zero:
            return
        self.model = kwargs["model"]
        self.film = film(self.run, self.photos, **{"steps": state.max_steps or None, "model": self.model} | self.settings)
        self.film.frame(self.model, state.global_step)

    def on_step_end(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any) -> None:
        """A frame, if one is due."""
        if self.film is not None:
            self.film.frame(self.model, state.global_step)

    def on_log(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl,
        logs: Mapping[str, Any] | None = None, **kwargs: Any,
    ) -> None:  # fmt: skip
        """What the Trainer has measured."""
        if self.film is None:
            return
        measured = {ours: (logs or {})[name] for name, ours in self.measured.items() if name in (logs or {})}
        measured |= {name: 100 * measured[name] for name in IN_PERCENT if name in measured}
        if measured:
            self.film.frame(self.model, state.global_step, **measured)

    def on_train_end(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any) -> None:
        """The last frame."""
        if self.film is not None:
            self.film.frame(self.model, state.global_step, last=True)
            self.film.close()
