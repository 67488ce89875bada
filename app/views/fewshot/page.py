"""A classifier from a few photos a class: a linear regression on what the model makes of them (arXiv 2010.11929 §4.1)."""

import numpy as np
import streamlit as st

from app import texts
from app.components.figure import aside, figure, lead
from app.components.lecture.lecture import wide
from app.furniture import controls
from app.state import features, session
from app.views.fewshot import findings, photos

text = texts.prose("fewshot")
aside(text["intro"])
vit = session.vit(lambda done, total: None)
source = controls.choice(text, "examples", ["pieces", "digits", "own"])
given = (
    photos.own(text) if source == "own" else photos.pieces(texts.language()) if source == "pieces" else photos.digits()
)
if given is not None and source != "own":
    given = photos.some_classes(text, given, source)
    if source == "pieces":
        aside(key="aside_same").caption(text["same photo"])
if given is None:
    st.info(text["need" if source == "own" else "need classes"], icon=":material/add_photo_alternate:")
    st.stop()

from vitcore import figures  # noqa: E402
from vitcore.figures.charts.few_shot import Curve  # noqa: E402

labels, most = np.array(given.labels), given.fewest - 1
shots = controls.slider(text["shots"], "shots", 1, most, min(5, most))
counts = sorted({n for n in (1, 2, 3, 5, 10, 25, 50) if n <= most} | {shots})
vectors = {"model": photos.looked_at(vit, given, text), "pixels": features.pixels(given.photos)}
said, charts = aside(key="aside_found"), lead()
beside = st.toggle(text["beside random"], value=False, key="beside_random", bind="query-params")
if beside:
    vectors["random"] = photos.looked_at(vit, given, text, trained=False)
curves, now = [], {}
for name, x in vectors.items():
    draws = {n: features.draws(x, labels, n) for n in counts}
    ends = [draws[n].interval for n in counts]
    curves.append(Curve(text[f"features {name}"], counts, [float(draws[n].accuracy.mean()) for n in counts],
                        [low for low, _ in ends], [high for _, high in ends]))  # fmt: skip
    now[name] = draws[shots]
best = now["model"]
chance = max(given.labels.count(label) for label in range(len(given.names))) / len(labels)
names = [controls.verbatim(name) for name in given.names]
kind = source if source == "pieces" else ""
said.markdown(findings.accuracy(best, now["pixels"], shots, names, controls.verbatim(vit.card.title), text, kind))
said.markdown(findings.beside_pixels(curves[0], curves[1], text, kind))
with charts:
    left, right = st.columns(2, gap="large")
    with left:
        fig = figures.few_shot(curves, chance, len(best.accuracy), best.inner, controls.theme())
        how = text["how"].format(draws=len(best.accuracy), inner=best.inner)
        figure(fig, "few_shot", text["alt"], how, text["limits"], of=(vit.called,),
               accuracy=np.array([curve.mean for curve in curves]), shots=np.array(counts))  # fmt: skip
    with right:
        table = best.confusion(labels)
        figure(figures.confusion(table, given.names, controls.theme()), "confusion", text["confusion alt"],
               text.fill("confusion how", shots=shots), of=(vit.called,), confusion=table)  # fmt: skip
if worst := findings.mistaken(best, labels, names, text, "" if source == "own" else source):
    st.markdown(f"**{text['mistaken']}**")
    with st.container(horizontal=True):
        for i, told in worst:
            st.image(given.photos[i], told, width=wide(150))
else:
    st.success(text["none mistaken"], icon=":material/check:")
