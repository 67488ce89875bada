"""A callback that films a training of Lightning's: `Trainer(callbacks=[FilmCallback("runs/mine", photos)])`.

Needs the package `lightning` (`pip install inside-vit[lightning]`).
"""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import lightning
from lightning.pytorch.callbacks import Callback

from vitcore.train.film.film_writer import FilmWriter, Pictures, film

METRIC_NAMES = {"val_loss": "val_loss", "val_acc": "top1", "val_accuracy": "top1"}  # their names, ours
IN_PERCENT = ("top1", "top5")


class FilmCallback(Callback):
    """Films what a Trainer trains; settings are those of `vitcore.film`.

    The number of steps is the Trainer's. `measured` says which of the metrics that your module logs the film keeps, and
    as what: `val_loss`, or `top1` and `top5`, which you log as shares from 0 to 1.
    """

    def __init__(
        self, run: str | Path, photos: Sequence[Pictures] | Pictures | None = None, *,
        measured: Mapping[str, str] = METRIC_NAMES, **settings: Any,
    ) -> None:  # fmt: skip
        self.run, self.photos, self.measured, self.settings = run, photos, measured, settings
        self.film: FilmWriter | None = None

    def on_train_start(self, trainer: lightning.Trainer, pl_module: lightning.LightningModule) -> None:
        """Begin the film with the model as it is before its first step. Raises: ModelError, where it can't be filmed."""
        if not trainer.is_global_zero:
            return
        most = trainer.estimated_stepping_batches
        steps = int(most) if 0 < most < math.inf else None
        self.film = film(self.run, self.photos, **{"steps": steps, "model": pl_module} | self.settings)
        self.film.frame(pl_module, trainer.global_step)

    def on_train_batch_end(
        self, trainer: lightning.Trainer, pl_module: lightning.LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """A frame, if one is due; and the loss, as often as the Trainer logs."""
        if self.film is None:
            return
        loss = outputs.get("loss") if isinstance(outputs, Mapping) else outputs
        every = max(1, getattr(trainer, "log_every_n_steps", 50))
        logs = loss is not None and trainer.global_step % every == 0
        measured: dict[str, Any] = {"loss": loss} if logs else {}
        self.film.frame(pl_module, trainer.global_step, **measured)

    def on_validation_end(self, trainer: lightning.Trainer, pl_module: lightning.LightningModule) -> None:
        """What was measured on held-out photos, at the step that has been filmed."""
        if self.film is None or trainer.sanity_checking:
            return
        known = trainer.callback_metrics
        measured: dict[str, Any] = {ours: known[name] for name, ours in self.measured.items() if name in known}
        measured |= {name: 100 * measured[name] for name in IN_PERCENT if name in measured}
        if measured:
            self.film.frame(pl_module, trainer.global_step, **measured)

    def on_train_end(self, trainer: lightning.Trainer, pl_module: lightning.LightningModule) -> None:
        """The last frame."""
        if self.film is not None:
            self.film.frame(pl_module, trainer.global_step, last=True)
            self.film.close()

    def on_exception(self, trainer: lightning.Trainer, pl_module: lightning.LightningModule, exception: BaseException) -> None:
        """The training broke off."""
        if self.film is not None:
            self.film.__exit__(type(exception), exception, None)
