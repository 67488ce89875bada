"""The pages of the app, as rows of data."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PageRow:
    """A page: its file in `views/` is `<slug>.py`, its prose `text/<lang>/<slug>.md`, its address `/<slug>`; the first: `/`."""

    slug: str
    title: str
    icon: str
    help: str
    looks: bool = True  # at the photo and through the model of the sidebar


PAGES = (
    PageRow("overview", "Inside ViT", ":material/visibility:", "The paper's five pictures of your photo, side by side."),
    PageRow("patches", "Patches", ":material/grid_view:", "The photo cut into its patches; touch one, shuffle them."),
    PageRow("filters", "Embedding filters", ":material/blur_on:", "Principal components of the filters that read a patch."),
    PageRow("positions", "Position embeddings", ":material/grid_on:", "Where the model thinks each patch sits."),
    PageRow("distance", "Attention distance", ":material/straighten:", "How far each head looks, in pixels, over depth."),
    PageRow("attention", "Attention and rollout", ":material/center_focus_strong:", "What every head looks at."),
    PageRow("train", "Train", ":material/model_training:", "Train a model on your photos, and watch the loss fall.", False),
    PageRow("learn", "Watch it learn", ":material/movie:", "A training as a film: filters, positions, attention.", False),
)  # fmt: skip
