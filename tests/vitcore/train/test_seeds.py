"""Seeds are the same in every process and Python version, and no two of them collide."""

import os
import subprocess
import sys
from itertools import product
from pathlib import Path
from types import SimpleNamespace

import pytest
from torch import nn

from vitcore.train import seeds
from vitcore.train.learning import training_loop
from vitcore.train.recipe import Recipe


def test_a_seed_is_what_it_was_when_this_was_written():
    """Of numpy's SeedSequence, whose numbers numpy promises to keep (numpy.org/neps/nep-0019)."""
    drawn = [seeds.torch_seed(seeds.DROPS, *rest) for rest in ((0, 0, 0), (1, 2, 3))]
    assert drawn == [6315739163131927091, 5935399399268843021]


@pytest.mark.parametrize("salt", ["0", "77"])
def test_another_process_draws_the_same(salt):
    code = "from vitcore.train import seeds; print(seeds.torch_seed(5, 1, 2, 3))"
    env, root = os.environ | {"PYTHONHASHSEED": salt}, Path(__file__).parents[3]
    done = subprocess.run([sys.executable, "-c", code], env=env, cwd=root, capture_output=True, check=True)
    assert int(done.stdout) == seeds.torch_seed(5, 1, 2, 3)


def test_steps_and_places_do_not_collide():
    """(seed + 1, step) is not (seed, step + 1), as it would be of a sum."""
    drawn = {seeds.torch_seed(*numbers) for numbers in product(range(1, 7), range(6), range(6), range(6))}
    assert len(drawn) == 6**4 and all(0 <= one < 2**63 for one in drawn)


def test_every_use_has_a_number_of_its_own():
    uses = {name: value for name, value in vars(seeds).items() if name.isupper()}
    assert len(set(uses.values())) == len(uses) > 4


def test_a_step_of_training_seeds_by_its_use_step_and_place(monkeypatch):
    class Seen(Exception):
        pass

    def seen(*numbers):
        raise Seen(*numbers)

    monkeypatch.setattr(training_loop, "torch_seed", seen)
    machine, data = SimpleNamespace(num_processes=2, process_index=1), SimpleNamespace(batch=lambda *place: None)
    run = SimpleNamespace(recipe=Recipe(seed=7), step=3, accelerator=machine, data=data, module=nn.Identity(), passes_per_step=1)
    run.optimiser = SimpleNamespace(param_groups=[])
    with pytest.raises(Seen) as found:
        training_loop.run_optimiser_step(run)
    assert found.value.args == (seeds.DROPS, 7, 3, 1)
