"""Stopping where there are no signals, and names of runs that every system can have as a folder."""

import pytest

from vitcore.train import run_folder
from vitcore.train.trainer.run_training import run_training


def test_a_file_asks_a_run_to_save_and_stop(new_run):
    folder = new_run("a")
    assert run_training(folder, lambda record: record["step"] == 2 and folder.stop_file.touch()) == "stopped"
    assert (run_folder.read_status_and_check_alive(folder)["state"], run_folder.read_log(folder)[-1]["step"]) == ("stopped", 2)
    assert run_training(folder, lambda record: None) == "finished", "the wish was of that time only"


@pytest.mark.parametrize("name", ["a", "mine-2.b_c", "console", "com10", "1", "x" * 64])
def test_a_name(name):
    assert run_folder.RUN_NAME.fullmatch(name)


@pytest.mark.parametrize(
    "name", ["", "con", "NUL", "aux.txt", "com1", "a.", ".a", ".hidden", "a/b", "../up", "a b", "..", "x" * 65, "ä"]
)
def test_no_name(new_run, name):
    with pytest.raises(run_folder.RunError, match="can't be a run's name"):
        new_run(name)
