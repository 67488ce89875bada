"""A classifier from a few photos a class: a linear regression on what the model makes of them (arXiv 2010.11929 §4.1)."""

from dataclasses import replace

import streamlit as st

from app import texts
from app.components import light_or_dark
from app.components.figure import figure, picture_container
from app.components.page_style.page_style import scale_to_page_px
from app.shell import query_controls
from app.state.photos.photo_collections import few_shot_draws
from app.state.visit import current_model
from app.state.visit.visit import model_subject
from app.views.fewshot import accuracy_sentences, collection_menu
from vitcore import figures
from vitcore.figures.charts.few_shot import FewShotCurve

text = texts.prose("fewshot")
vit = current_model.load_model(lambda done, total: None)
charts = picture_container()
settings, own = st.container(horizontal=True, vertical_alignment="bottom"), st.container()
with settings:
    source = query_controls.button_row(text, "examples", ["pieces", "digits", "own"])
with own:
    given = collection_menu.collection_of_source(text, source)
if given is not None and source != "own":
    with settings, st.popover(text["settings"], icon=":material/tune:"):
        given = collection_menu.class_subset_menu(text, given, source)
if given is None:
    charts.info(text["need" if source == "own" else "need classes"], icon=":material/add_photo_alternate:")
    st.stop()

labels, most = given.label_array, given.smallest_class_size - 1
with settings:
    shots = query_controls.slider(text["shots"], "shots", 1, most, min(5, most), width=240)
    beside = st.toggle(text["beside random"], value=False, key="beside_random", bind="query-params")
counts = sorted({n for n in (1, 2, 3, 5, 10, 25, 50) if n <= most} | {shots})
with charts:
    vectors = collection_menu.features_by_source(vit, given, text, with_random_weights=beside)
curves, now = [], {}
for name, x in vectors.items():
    draws = {n: few_shot_draws(x, labels, n) for n in counts}
    ends = [draws[n].interval for n in counts]
    curves.append(FewShotCurve(text[f"features {name}"], counts, [draws[n].mean_accuracy for n in counts],
                        [low for low, _ in ends], [high for _, high in ends]))  # fmt: skip
    now[name] = draws[shots]
best = now["model"]
names = [texts.escape_markdown(name) for name in given.names]
kind = source if source == "pieces" else ""
with charts:
    left, right = st.columns([3, 2], gap="large")
    with left:
        fig = figures.few_shot_accuracy(
            curves, given.largest_class_share, len(best.accuracy), best.interval_percent, light_or_dark.current_theme()
        )
        how = text.join_sentences([
            text["how"].format(draws=len(best.accuracy), inner=best.interval_percent),
            accuracy_sentences.pixel_comparison(curves[0], curves[1], text, kind),
            accuracy_sentences.method_sentences(best, names, texts.escape_markdown(vit.card.title), text),
        ])  # fmt: skip
        title = accuracy_sentences.accuracy_title(best, now["pixels"], shots, text, kind)
        figure(replace(fig, title=title, subtitle=""), "few_shot", text["alt"], how, text["limits"], subjects=(model_subject(vit),),
               accuracy=[curve.mean for curve in curves], shots=counts)  # fmt: skip
    with right:
        table = best.confusion(labels)
        fig = replace(figures.confusion_matrix(table, given.names, light_or_dark.current_theme()), subtitle="")
        figure(fig, "confusion", text["confusion alt"], text.fill("confusion how", shots=shots), subjects=(model_subject(vit),),
               confusion=table)  # fmt: skip
if source == "pieces":
    st.caption(text["same photo"])
if worst := accuracy_sentences.mistaken_photos(best, labels, names, text, "" if source == "own" else source):
    st.markdown(f"**{text['mistaken']}**")
    with st.container(horizontal=True):
        for i, told in worst:
            st.image(given.photos[i], told, width=scale_to_page_px(150))
else:
    st.success(text["none mistaken"], icon=":material/check:")
