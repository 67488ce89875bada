"""A classifier from a few photos a class: a linear regression on what the model makes of them (arXiv 2010.11929 §4.1)."""

import streamlit as st

from app import texts
from app.components import page_theme
from app.components.figure import aside, figure, lead
from app.components.page_style.page_style import scaled_px
from app.shell import query_controls
from app.state.photos import image_features
from app.state.visit import current_model
from app.views.fewshot import accuracy_sentences, photo_collections

text = texts.prose("fewshot")
aside(text["intro"])
vit = current_model.load_model(lambda done, total: None)
source = query_controls.button_row(text, "examples", ["pieces", "digits", "own"])
given = photo_collections.collection_of_source(text, source)
if given is not None and source != "own":
    given = photo_collections.class_filter(text, given, source)
    if source == "pieces":
        aside(key="aside_same").caption(text["same photo"])
if given is None:
    st.info(text["need" if source == "own" else "need classes"], icon=":material/add_photo_alternate:")
    st.stop()

from vitcore import figures  # noqa: E402
from vitcore.figures.charts.few_shot import FewShotCurve  # noqa: E402

labels, most = given.label_array, given.fewest - 1
shots = query_controls.slider(text["shots"], "shots", 1, most, min(5, most))
counts = sorted({n for n in (1, 2, 3, 5, 10, 25, 50) if n <= most} | {shots})
vectors = {
    "model": photo_collections.features_with_progress(vit, given, text),
    "pixels": image_features.pixel_features(given.photos),
}
said, charts = aside(key="aside_found"), lead()
beside = st.toggle(text["beside random"], value=False, key="beside_random", bind="query-params")
if beside:
    vectors["random"] = photo_collections.features_with_progress(vit, given, text, trained=False)
curves, now = [], {}
for name, x in vectors.items():
    draws = {n: image_features.few_shot_draws(x, labels, n) for n in counts}
    ends = [draws[n].interval for n in counts]
    curves.append(FewShotCurve(text[f"features {name}"], counts, [draws[n].mean_accuracy for n in counts],
                        [low for low, _ in ends], [high for _, high in ends]))  # fmt: skip
    now[name] = draws[shots]
best = now["model"]
names = [texts.escape_markdown(name) for name in given.names]
kind = source if source == "pieces" else ""
said.markdown(
    accuracy_sentences.accuracy_sentence(best, now["pixels"], shots, names, texts.escape_markdown(vit.card.title), text, kind)
)
said.markdown(accuracy_sentences.pixel_comparison(curves[0], curves[1], text, kind))
with charts:
    left, right = st.columns(2, gap="large")
    with left:
        fig = figures.few_shot_accuracy(
            curves, given.largest_class_share, len(best.accuracy), best.interval_percent, page_theme.current()
        )
        how = text["how"].format(draws=len(best.accuracy), inner=best.interval_percent)
        figure(fig, "few_shot", text["alt"], how, text["limits"], subjects=(vit.display_name,),
               accuracy=[curve.mean for curve in curves], shots=counts)  # fmt: skip
    with right:
        table = best.confusion(labels)
        figure(figures.confusion_matrix(table, given.names, page_theme.current()), "confusion", text["confusion alt"],
               text.fill("confusion how", shots=shots), subjects=(vit.display_name,), confusion=table)  # fmt: skip
if worst := accuracy_sentences.mistaken_photos(best, labels, names, text, "" if source == "own" else source):
    st.markdown(f"**{text['mistaken']}**")
    with st.container(horizontal=True):
        for i, told in worst:
            st.image(given.photos[i], told, width=scaled_px(150))
else:
    st.success(text["none mistaken"], icon=":material/check:")
