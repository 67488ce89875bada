"""The training loop: a generator of records over Hugging Face accelerate, which can stop at any step and go on exactly.

Batches, augmentation, dropout and masking are seeded by (seed, step, place in the batch), so a resumed run sees what an
unbroken one sees, and several processes together what one sees.
"""

import copy
import math
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import torch
from accelerate import Accelerator
from accelerate.state import AcceleratorState
from accelerate.utils import DistributedType
from torch import Tensor

from vitcore.train.learning.objectives import build_vit_with_training_loss, model_classes
from vitcore.train.learning.optimiser_and_weight_average import (
    end_to_end_start_step,
    learning_rate_at_step,
    make_optimiser,
    uses_bf16_on_this_machine,
    weight_average,
)
from vitcore.train.recipe import Recipe
from vitcore.train.run_folder import RunError
from vitcore.train.seeds import DROPS, torch_seed

LOSS_CHECK_STEPS = 10  # steps between looks at the loss on a GPU, where looking means waiting


@dataclass
class TrainingState:
    """A run in memory: what a checkpoint holds, and what it learns from."""

    recipe: Recipe
    accelerator: Accelerator
    module: Any  # the prepared objective
    optimiser: Any
    average: Any  # an AveragedModel of the objective, or None
    data: Any  # has batch(step, micro, passes, rank, world)
    classes: tuple[str, ...]
    unsharded_copy: Any = None  # with FSDP: a copy that the sharded weights are gathered into
    step: int = 0
    best: float = -math.inf
    last_record: dict[str, Any] = field(default_factory=dict)  # the last record
    last_status_s: float = -math.inf  # when word was last left, in seconds of the monotonic clock

    @property
    def passes_per_step(self) -> int:
        """Forward passes of this process in a step; their gradients are accumulated."""
        return passes_per_step(self.recipe, self.accelerator.num_processes)

    def kept_objective(self) -> Any:
        """The objective with the weights that are kept: the average where there is one.

        All processes call it together; where weights are sharded (FSDP), only the first gets them whole.
        """
        if self.average is not None:
            return self.average.module
        if self.unsharded_copy is not None:
            state = self.accelerator.get_state_dict(self.module)
            if self.accelerator.is_main_process:
                self.unsharded_copy.load_state_dict(state)
            return self.unsharded_copy
        return self.accelerator.unwrap_model(self.module, keep_torch_compile=False)

    def state_dict(self) -> dict[str, Any]:
        """What accelerate saves beside weights and optimiser."""
        average = {} if self.average is None else {"average": self.average.state_dict()}
        return {"step": self.step, "best": self.best, **average}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """The inverse of `state_dict`."""
        self.step, self.best = state["step"], state["best"]
        if self.average is not None:
            self.average.load_state_dict(state["average"])


def passes_per_step(recipe: Recipe, processes: int) -> int:
    """Passes a step of each process. Raises: RunError, when the batch can't be shared evenly."""
    size = recipe.micro_batch or max(1, recipe.batch // processes)
    if recipe.batch % (size * processes):
        facts = {"batch": recipe.batch, "processes": processes, "size": size}
        raise RunError(
            "a batch of {batch} can't be shared by {processes} {processes:process|processes} in "
            "passes of {size} {size:image|images}.",
            **facts,
        )
    return recipe.batch // (size * processes)


def make_accelerator(recipe: Recipe, **options: Any) -> Accelerator:
    """Where and how the recipe runs: device, processes, precision, compiler and trackers are accelerate's business."""
    _forget_the_last()
    mixed = "bf16" if uses_bf16_on_this_machine(recipe.precision) else "no"
    options |= {"dynamo_backend": "inductor"} if recipe.compile else {}
    return Accelerator(cpu=has_several_cpu_processes(), mixed_precision=mixed, step_scheduler_with_optimizer=False, **options)


def _forget_the_last() -> None:
    """Let another run of this process have a precision and a compiler of its own.

    accelerate keeps one state a process, refuses another precision, and passes over another compiler. The devices and the
    processes that know each other (its `PartialState`, and torch's process group) stay as they are.
    """
    if not (torch.distributed.is_available() and torch.distributed.is_initialized()):
        AcceleratorState._reset_state()


def has_several_cpu_processes() -> bool:
    """Whether a launcher started several processes on a machine without CUDA; accelerate wants to be told."""
    return int(os.environ.get("WORLD_SIZE", "1")) > 1 and not torch.cuda.is_available()


def start_training(recipe: Recipe, classes: tuple[str, ...], open_data: Any, machine: Accelerator) -> TrainingState:
    """A fresh run; `open_data(objective, device)` gives its batches."""
    machine.gradient_accumulation_steps = passes_per_step(recipe, machine.num_processes)
    known = model_classes(recipe, classes)
    module = build_vit_with_training_loss(recipe, known)
    sharded = machine.distributed_type == DistributedType.FSDP
    if sharded and recipe.average_decay:
        raise RunError("sharded weights (FSDP) can't be averaged here: set average_decay 0.")
    whole = copy.deepcopy(module).to(machine.device) if sharded else None
    average = weight_average(module, recipe.average_decay).to(machine.device) if recipe.average_decay else None
    data = open_data(module, machine.device)
    prepared, optim = machine.prepare(module, make_optimiser(recipe, module))
    run = TrainingState(recipe, machine, prepared, optim, average, data, known, whole)
    machine.register_for_checkpointing(run)
    return run


def training_records(run: TrainingState) -> Iterator[dict[str, Any]]:
    """Train to the recipe's last step, yielding {"step", "loss", "lr", "images_per_s", …}: each step, on a GPU each tenth.

    Raises: RunError, when the loss is not a number; the weights are then not to be saved.
    """
    recipe = run.recipe
    every = 1 if run.accelerator.device.type == "cpu" else LOSS_CHECK_STEPS
    begun, first = time.perf_counter(), run.step
    while run.step < recipe.steps:
        parts = run_optimiser_step(run)
        run.step += 1
        if run.step % every and run.step < recipe.steps:
            continue
        record = {name: float(value) for name, value in run.accelerator.reduce(parts, "mean").items()}
        if not math.isfinite(record["loss"]):
            raise RunError("the loss is not a number at step {step}: try a lower lr_peak or a longer warm-up", step=run.step)
        seconds = time.perf_counter() - begun
        speed = (run.step - first) * recipe.batch / seconds
        begun, first = time.perf_counter(), run.step
        run.last_record = {
            "step": run.step,
            **record,
            "lr": learning_rate_at_step(recipe, run.step - 1),
            "images_per_s": round(speed, 1),
        }
        yield run.last_record


def run_optimiser_step(run: TrainingState) -> dict[str, Tensor]:
    """One optimiser step; the means of its losses, still on the device."""
    recipe, machine = run.recipe, run.accelerator
    run.module.train()
    if recipe.task == "layers" and run.step == end_to_end_start_step(recipe):
        run.optimiser.optimizer.state.clear()  # what gradients were worth while each part had its own task misleads from here on
    for group in run.optimiser.param_groups:
        group["lr"] = group.get("times", 1.0) * learning_rate_at_step(recipe, run.step)
    total: dict[str, Tensor] = {}
    for micro in range(run.passes_per_step):
        place = micro * machine.num_processes + machine.process_index
        batch = run.data.batch(run.step, micro, run.passes_per_step, machine.process_index, machine.num_processes)
        torch.manual_seed(torch_seed(DROPS, recipe.seed, run.step, place))
        with machine.accumulate(run.module):
            parts = run.module(batch)
            machine.backward(parts["loss"])
            if machine.sync_gradients and recipe.clip_norm:
                machine.clip_grad_norm_(run.module.parameters(), recipe.clip_norm)
            run.optimiser.step()
            run.optimiser.zero_grad()
        for name, value in parts.items():
            total[name] = total.get(name, 0) + value.detach() / run.passes_per_step
    if run.average is not None:
        run.average.update_parameters(machine.unwrap_model(run.module))
    return total
