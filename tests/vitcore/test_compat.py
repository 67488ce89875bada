"""timm can be imported beside any torch, and nothing is declared that is there already."""

import subprocess
import sys

from tests.conftest import ROOT
from vitcore.models.torchvision_ops import SCHEMAS, declare_torchvision_ops


def fresh(script):
    """Exit status and words of a new interpreter."""
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_importing_the_package_is_enough_and_loads_nothing():
    """Nor do visitors who come together hinder each other: each thread begins with another part of timm.

    While torch is loaded other threads can import: they need the lock that Python holds while a module is looked for.
    """
    script = """
import _imp, sys, threading, vitcore
print('torch' in sys.modules)
from vitcore.models import torchvision_ops
declare = torchvision_ops.declare_torchvision_ops
held = []
def told():
    held.append(_imp.lock_held())
    declare()
torchvision_ops.declare_torchvision_ops = told
def begin(name):
    __import__(name)
    sys.stdout.write(name + '\\n')  # in one piece: print ends the line in a second one
parts = ('vitcore.architectures.axial_vit', 'vitcore.train.learning.optimisers', 'vitcore.train.learning.model_from_recipe')
threads = [threading.Thread(target=begin, args=[name]) for name in parts]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
import timm, torch
print(set(held) == {False}, hasattr(torch.ops.torchvision, 'nms'), timm.is_model('vit_tiny_patch16_224'))
"""
    first, *parts, free, declared, known = fresh(script)
    assert (first, free, declared, known) == ("False", "True", "True", "True")
    assert sorted(parts) == [
        "vitcore.architectures.axial_vit",
        "vitcore.train.learning.model_from_recipe",
        "vitcore.train.learning.optimisers",
    ]


def test_declaring_twice_does_nothing_and_what_is_declared_is_what_torchvision_asks_for():
    import torch

    from vitcore.models import torchvision_ops

    declare_torchvision_ops()
    before = len(torchvision_ops._declared)
    declare_torchvision_ops()
    assert len(torchvision_ops._declared) == before
    for name, schema in SCHEMAS.items():
        assert schema.startswith(f"{name}(") and hasattr(torch.ops.torchvision, name)
