"""No number stands bare in the English texts: it is a citation, a name, a definition, filled in, or here with a reason."""

import re

import sentences
from test_texts import PAGES, page

from app import texts

NAMES = re.compile(  # of papers and their parts, models, data sets, files and keys: no quantities
    r"(?:Tables?|Figures?|Fig\.|Eq\.|App\.|Appendix|Section|§|arXiv)\s?[A-Z]?\.?\d+(?:[.\-–]\d+)*(?:(?:,| and| or) \d+(?:\.\d+)*)*"
    r"|\b[A-Za-z+_-]*[A-Za-z][A-Za-z+_-]*[/-]?\d+\w*(?:x\d+|/\d+)*|\[[^]]*\]\([^)]*\)|`[^`]*`|\$[^$]*\$"
    r"|\((?:19|20)\d\d\)|\b[A-Z][a-z]+ (?:19|20)\d\d\b"
    r"|\b[123]-D\b|\bA4\b|16×16 words"
)
DEFINED = re.compile(  # what a number means here: scales, shares and correlations end at these, and counting begins at 0
    r"0, 1, 2, …|(?<![\d.])[−-]?(?:0|1|100)(?: %| px)?(?![\d.,×]*\d)|(?<![\d.])0\.5(?=[;:)]| is guessing)"
    r"|(?:of|over) 255|from 0 to 255|[·×]\s*3(?= =|\s+pixels become)|[Tt]op 5"
    r"|likeliest five|five likeliest|five most likely|among five|of the four|to D on four"
)
WORDS = re.compile(
    r"\b(?:three|four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen|sixteen|eighteen|nineteen|twenty|thirty|dozens?"
    r"|hundreds?|thousands?|(?:m|b)illions?)\b", re.I,
)  # fmt: skip
FIGURE = re.compile(r"\d[\d.,×]*")
BLANK = re.compile(r"\{[^}]*\}(?: million)?")

PAPER = "the paper's own, as its text prints it; what its tables print is filled in"
IMAGENET = "the size of ImageNet-1k's validation set"
TWICE = "arithmetic: half as wide and half as high"
MAP_INTERVALS = (
    "mean of {photos} {photos:photo|photos}, 95 % intervals; 0: orders by chance",
    *("Best over {photos} {photos:photo|photos} ({fill}): {best}. Insertion minus deletion is {gap} "
      f"(95 % interval: {{low}} to {{high}}). Paired over photos (t-test), {rest}"
      for rest in ("{tied} is not significantly worse.", "every other method is significantly worse.")),
)  # fmt: skip
REASONS = {
    "attention: rule spread is": "the base of bits",
    "attention: key digits": "the keys of a keyboard", "lecture: key sheet": "the keys of a keyboard",
    "attention: shared help": "the scale in units of an even share, as drawn",
    "bring: answer normalise half": "a setting by its value", "bring: answer crop center 0.95": "a setting by its value",
    "bring: answer crop center 0.9": "a setting by its value", "bring: answer crop center 0.875": "a setting by its value",
    **dict.fromkeys(("maptests: ranking how", "maptests: outlines how", *MAP_INTERVALS), "the level of every interval of maps"),
    "card: table how": "what giga means", "common: about top1": IMAGENET, "common: photos imagenet": IMAGENET,
    "common: paper same photos": IMAGENET, "common: paper other photos": IMAGENET, "common: paper namesake": PAPER,
    "common: residual help": "the choice of arXiv 2005.00928", "outliers: histogram limits": "of arXiv 2309.16588, cited beside it",
    **{f"overview: {name} title": "a section's place" for name in ("filters", "positions", "distance", "rollout")},
    "overview: take": "patches, filters, positions, distance and rollout",
    "outliers: why": "of arXiv 2309.16588, cited beside it", "story: patches options": TWICE, "story: patches answer": TWICE,
    "switch: square.8": "a setting by its value", "switch: square.4": "a setting by its value",
    "switch: square.2": "a setting by its value",
    "train: source cifar10": "the size of its archive", "train: source cifar100": "the size of its archive",
    "train: kind axial resnet": "the convolutions of a ResNet", "mean of five data sets": PAPER,
    "Its 16-bit values use {bits} bits: {most} is shown as white.": "a format",
    "It has {bands} bands: the first three are shown as red, green and blue.": "red, green and blue",
    "{name} is a TIFF of {bands} bands of {bits} bits in a form not read here: save it uncompressed, as 8 or 16 bits.": "a format",
    "{name} is a {kind} in a form that is not read here: save it as PNG, of 8 or 16 bits.": "a format",
    "16-bit values are shown with 8 bits.": "a format", "Values were scaled from their own range to 8 bits.": "a format",
    "File, SHA-256 (first 16 digits)": "how many digits stand there", "VTAB: 19 tasks, 1,000 labels each": PAPER,
    "{table} of the paper; bars: standard deviation of three fine-tunings": PAPER,
    "Position embeddings: 5-shot accuracy on ImageNet": PAPER,
    "a ResNet's width is a multiple of 32, not {width}.": "GroupNorm's groups",
    "keep_patches is 'share:until, …' such as 0.25:0.95, not {text!r}.": "an example of what is typed",
    "its patch embedding is not a convolution over patches of three colours.": "red, green, blue",
    "Its patch embedding takes {count} numbers of a patch, which are no square patch of three colours.": "red, green, blue",
    "{name} has bands from 0 to {last}: three of them are shown, or one in grey.": "red, green, blue",
    "mean and std are three numbers each, of red, green and blue, and std is above 0.": "red, green, blue",
    "{name} holds {tensor} without plain values: save the weights as 16- or 32-bit floats.": "formats",
    "{name} holds {tensor} as {kind}, as quantised models do: save the weights as 16- or 32-bit floats.": "formats",
    "{name} is an array of shape {shape}: a photo is (height, width, 3) or (3, height, width), both sides at least {least} px.":
        "red, green, blue",
    "{name} takes pictures of {count} {count:channel|channels}, and photos have 3.": "red, green, blue",
    "It is patch {patch}, row {row} and column {col}: {count} numbers, three for each of its {high} × {wide} pixels.":
        "red, green, blue",
}  # fmt: skip
AS_PRINTED = ("paper: ", "experiments: ")  # pages on what the paper and its experiments say, each with its source beside it


def bare(text: str) -> list[str]:
    """The numbers of a text that are neither filled in, nor names, nor definitions."""
    plain = DEFINED.sub(" ", NAMES.sub(" ", BLANK.sub(" ", text)))
    return FIGURE.findall(plain) + WORDS.findall(plain)


def everywhere() -> dict[str, str]:
    """Every English text of the pages by page and key, and every sentence of vitcore."""
    found = {f"{name}: {key}": text for name in PAGES for key, text in page(name, texts.DEFAULT).items()}
    return found | {sentence: sentence for sentence in sentences.literals()}


def test_no_number_in_the_prose_can_go_stale():
    found = {
        where: numbers for where, text in everywhere().items()
        if where not in REASONS and not where.startswith(AS_PRINTED) and (numbers := bare(text))
    }  # fmt: skip
    assert found == {}
    assert REASONS.keys() - everywhere().keys() == set(), "reasons for texts that are not there any more"


def test_a_bare_number_is_found_and_a_name_is_not():
    assert bare("On 79 photos, by 0.86, and nine more of {count} (Table 2, ViT-L/16, JFT-300M)") == ["79", "0.86,", "nine"]
    assert bare("Table 5 has ViT-B/16 on CIFAR-100: 100 % (1: the same; 0: unrelated)") == []
