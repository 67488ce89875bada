"""Runs of seconds for the maintainers' scripts: those of the training tests."""

from tests.vitcore.train.conftest import digits as digits
from tests.vitcore.train.conftest import new_run as new_run
