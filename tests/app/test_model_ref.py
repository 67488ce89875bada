"""A reference to a model is printed and read again without loss, in the form that links and caches have always had."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.state.model_ref import ModelRef

PLAIN = st.text(st.characters(exclude_characters="@~"), max_size=20)
REFS = st.builds(ModelRef, PLAIN.filter(bool), PLAIN, PLAIN)


@given(REFS)
def test_what_is_printed_is_read_again(ref):
    assert ModelRef.parse(str(ref)) == ref


@given(REFS, PLAIN.filter(bool))
def test_a_variant_goes_on_top_and_comes_off_again(ref, variant):
    varied = ref.with_variant(variant)
    assert varied.base == ref and varied.outermost == variant
    assert ModelRef.parse(str(varied)) == varied


@pytest.mark.parametrize(("text", "name", "checkpoint", "variant", "size"), [
    ("deit_tiny", "deit_tiny", "", "", ""), ("runs/20260101-1200@17", "runs/20260101-1200", "17", "", ""),
    ("your-model@abc.3~random", "your-model", "abc.3", "random", ""),
    ("runs/one@17~checkpoint-before.18", "runs/one", "17", "checkpoint-before.18", ""),
    ("deit_tiny~96x128", "deit_tiny", "", "96x128", "96x128"),
    ("deit_tiny~random~96x128", "deit_tiny", "", "random~96x128", "96x128"), ("deit_tiny_2x2", "deit_tiny_2x2", "", "", ""),
])  # fmt: skip
def test_the_forms_there_are(text, name, checkpoint, variant, size):
    ref = ModelRef.parse(text)
    assert (ref.name, ref.checkpoint, ref.variant, ref.size) == (name, checkpoint, variant, size)
    assert str(ref) == text
