"""The answer drawn: bars in percent, the likeliest on top."""

from vitcore import figures

TOP = [("tabby", 0.61), ("tiger cat", 0.2), ("lynx", 0.05)]


def test_bars_are_percentages():
    fig = figures.predictions(TOP)
    (bars,) = fig.marks
    assert [round(x, 6) for x in bars.x] == [61, 20, 5] and list(bars.y) == [0, 1, 2]
    assert fig.y.range[0] > fig.y.range[1] and list(fig.x.range) == [0, 100]


def test_every_class_is_named_with_its_number():
    said = [note.text for note in figures.predictions(TOP).labels]
    assert len(said) == 3 and "tabby" in said[0] and "61.0 %" in said[0] and "lynx" in said[2]


def test_its_title_can_be_chosen():
    assert figures.predictions(TOP, title="Patches shuffled").title == "Patches shuffled"
