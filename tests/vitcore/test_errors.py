"""Errors in words: a library's error is a reason, a mistake of ours is called one, and a refusal says its own sentence."""

import logging
import sys
from pathlib import Path

import pytest

from vitcore import errors, images, translation
from vitcore.errors import RefusalError, first_error_line, model_misfit_reason, own_mistake_location, refusal_reason, warn_caller
from vitcore.models.model_cards import ModelError

OURS, THEIRS = str(errors.HERE / "grid.py"), "/site-packages/timm/grid.py"


@pytest.mark.parametrize(
    ("error", "said"),
    [(ValueError("one\ntwo"), "one"), (KeyError(), "KeyError"), (OSError("\nbelow"), "OSError"), (ValueError("x" * 99), "x" * 9)],
)
def test_the_first_line(error, said):
    assert first_error_line(error, 9) == said


def raised(source: str, file: str) -> Exception:
    try:
        exec(compile(source, file, "exec"), {"np": pytest.importorskip("numpy")})
    except Exception as error:
        return error
    raise AssertionError(source)


@pytest.mark.parametrize("source", ["None.blocks", "{}['x']", "len(3)", "[][0]", "undefined", "1 / 0", "assert False"])
def test_an_error_of_a_program_is_a_mistake_where_our_code_raised_it(source, caplog):
    with caplog.at_level(logging.DEBUG, logger="vitcore"):
        ours = refusal_reason(raised(source, OURS))
    assert ours.startswith("a mistake in Inside ViT itself: ") and "grid.py:1" in ours
    assert [record.levelno for record in caplog.records] == [logging.ERROR] and caplog.records[0].exc_info
    theirs = raised(source, THEIRS)
    assert own_mistake_location(theirs) is None and refusal_reason(theirs) == first_error_line(theirs)
    assert model_misfit_reason(theirs) == "its parts do not fit together"


@pytest.mark.parametrize("ending", ["_of_mine/call.py", "_mine.py"])
@pytest.mark.parametrize("library", ["vitcore", "torch"])
def test_a_warning_is_at_the_line_of_a_caller_whose_name_begins_as_a_librarys(library, ending):
    """torchvision is not torch: its line is where vitcore was called; so is a file's beside a checkout."""
    theirs, names = f"{Path(sys.modules[library].__file__).parent}{ending}", {"warn_caller": warn_caller}
    exec(compile("def call():\n    warn_caller('so', UserWarning)", theirs, "exec"), names)
    with pytest.warns(UserWarning, match="so") as told:
        names["call"]()
    assert told[0].filename == theirs


def test_a_librarys_error_that_says_something_is_told():
    assert model_misfit_reason(raised("assert False, 'height 3'", THEIRS)) == "height 3"
    assert model_misfit_reason(raised("(lambda: 0)(depth=1)", THEIRS)) == "its architecture has no setting named depth"


@pytest.mark.parametrize("source", ["open('/nowhere/at/all')", "np.zeros(3).reshape(2)", "raise RuntimeError('shapes')"])
def test_what_a_file_or_an_array_does_is_no_mistake(source, caplog):
    with caplog.at_level(logging.DEBUG, logger="vitcore"):
        assert refusal_reason(error := raised(source, OURS)) == first_error_line(error)
    assert [record.levelno for record in caplog.records] == [logging.DEBUG] and caplog.records[0].exc_info


def test_a_mistake_while_a_photo_is_decoded_is_not_called_damage_alone(monkeypatch):
    monkeypatch.setattr(images.photo, "_decode", lambda: None)  # called with two arguments
    with pytest.raises(images.PhotoError, match=r"a mistake in Inside ViT itself: TypeError in photo\.py:\d+"):
        images.open_photo(b"\xff\xd8\xff\xe0" * 99, "a.jpg")


def test_a_refusal_says_its_sentence_in_the_language_of_the_reader():
    with translation.using_translation({"{name} is empty.": "{name} est vide."}):
        assert str(ModelError("{name} is empty.", name="a.pth")) == "a.pth est vide."
        assert str(RefusalError("{name} {is} as it was.")) == "{name} {is} as it was."
    one = ModelError(said := translation.say("{name} is empty.", name="b"))
    assert one.args == (said,) and translation.sentence_as_json(one)["facts"] == {"name": "b"}
