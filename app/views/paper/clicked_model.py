"""The model that a visitor clicked in a chart: what the paper says of it, and a way to open one of its kind."""

import streamlit as st

from app import permissions
from app.shell.page_switch import request_page
from app.state.models import model_menu
from app.texts import Prose
from vitcore.models.model_cards import MODEL_CARDS
from vitcore.paper.tables import paper_table_rows

CLICKED = "_paper_model"  # the model that was clicked last
HYBRID_MODELS = {"R50x1+ViT-B/16": "vit_base_r50_s16_384.orig_in21k_ft_in1k"}


def show_clicked_model(text: Prose) -> None:
    """What Tables 1 and 6 say of the model that was clicked, and a button that opens it, where the menu has it."""
    clicked = st.session_state.get(CLICKED)
    if not clicked:
        st.caption(text["click"])
        return
    with st.container(border=True):
        st.markdown(f"**{clicked}**")
        size = clicked.split("+ViT-")[-1].removeprefix("ViT-")[:1] if "ViT" in clicked else ""
        shape = next((row for row in paper_table_rows("1") if size and row["model"].startswith(f"ViT-{size}")), None)
        if shape:
            st.markdown(text["shape"].format(**{k: v for k, v in shape.items() if k not in ("table", "model")}))
        for row in paper_table_rows("6"):
            if row["model"] == clicked:
                st.markdown(text["transfer"].format(epochs=row["epochs"], cost=row["exaflops"], imagenet=row["ImageNet"],
                                                    cifar=row["CIFAR-100"]))  # fmt: skip
        name = _menu_model_of_kind(clicked)
        if name and (permissions.is_allowed("downloads") or name in model_menu.models_by_name()):
            st.caption(text["not these weights"])
            st.button(text["open"].format(model=clicked), key="open_model", icon=":material/open_in_new:", on_click=request_page,
                      args=("overview",), kwargs={"model": name})  # fmt: skip
        else:
            st.caption(text["not in menu"].format(model=clicked))


def _menu_model_of_kind(model: str) -> str | None:
    """The name of the first model of the menu that is of this kind."""
    titles = {card.title: card.name for card in MODEL_CARDS}
    return titles.get(model) or HYBRID_MODELS.get(model)
