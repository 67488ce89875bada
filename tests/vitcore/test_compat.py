"""timm can be imported beside any torch, and nothing is declared that is there already."""

import subprocess
import sys

from tests.conftest import ROOT
from vitcore.models.torchvision_ops import SCHEMAS, declare_torchvision_ops


def fresh(script):
    """Exit status and words of a new interpreter."""
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_importing_the_package_is_enough_and_loads_nothing():
    script = (
        "import sys, vitcore; print('torch' in sys.modules); import timm, torch;"
        "print(hasattr(torch.ops.torchvision, 'nms'), timm.is_model('vit_tiny_patch16_224'))"
    )
    assert fresh(script) == ["False", "True", "True"]


def test_declaring_twice_does_nothing():
    from vitcore.models import torchvision_ops

    declare_torchvision_ops()
    before = len(torchvision_ops._declared)
    declare_torchvision_ops()
    assert len(torchvision_ops._declared) == before


def test_what_is_declared_is_what_torchvision_asks_for():
    import torch

    for name, schema in SCHEMAS.items():
        assert schema.startswith(f"{name}(")
        assert hasattr(torch.ops.torchvision, name)
