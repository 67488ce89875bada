"""The pages of the app, as rows of data; their titles are in `text/<lang>/menu.md`."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PageRow:
    """A page: it is `views/<slug>/page.py`, its prose `text/<lang>/<slug>.md`, its address `/<slug>`; the first: `/`."""

    slug: str
    icon: str
    group: str  # of the menu
    uses_model: bool = True  # at the photo and through the model of the sidebar


PAGES = (
    PageRow("overview", ":material/visibility:", "look"),
    PageRow("story", ":material/auto_stories:", "look"),
    PageRow("attention", ":material/touch_app:", "look"),
    PageRow("card", ":material/id_card:", "look"),
    PageRow("bring", ":material/upload_file:", "look", False),
    PageRow("patches", ":material/grid_view:", "pictures"),
    PageRow("filters", ":material/blur_on:", "pictures"),
    PageRow("positions", ":material/grid_on:", "pictures"),
    PageRow("distance", ":material/straighten:", "pictures"),
    PageRow("rollout", ":material/center_focus_strong:", "pictures"),
    PageRow("outliers", ":material/flare:", "pictures"),
    PageRow("compare", ":material/compare:", "pictures"),
    PageRow("train", ":material/model_training:", "train", False),
    PageRow("learn", ":material/movie:", "train", False),
    PageRow("fewshot", ":material/category:", "train", False),
    PageRow("paper", ":material/menu_book:", "paper", False),
    PageRow("experiments", ":material/science:", "paper", False),
    PageRow("quiz", ":material/quiz:", "take"),
    PageRow("report", ":material/download:", "take"),
)
GROUPS = tuple(dict.fromkeys(row.group for row in PAGES))
