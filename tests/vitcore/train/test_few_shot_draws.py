"""Few-shot accuracy over draws: every photo is learned from or asked about, and the tables are counts of the answers."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from vitcore.train.evaluation.few_shot import RIDGE_PENALTY, TooFewPhotos, few_shot_over_draws, whiten


def blobs(spread):
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(3), 8)
    return (rng.normal(size=(3, 5))[labels] * 4 + spread * rng.normal(size=(24, 5))).astype(np.float32), labels


def test_classes_far_apart_are_never_mistaken():
    x, labels = blobs(0.01)
    found = few_shot_over_draws(x, labels, 3, draws=4)
    assert found.accuracy.tolist() == [1, 1, 1, 1] and found.interval == (1, 1)
    assert (found.confusion(labels) == np.eye(3)).all() and not found.error_rates(labels).any()
    assert ((found.answers < 0).sum(1) == 9).all(), "three of each class are learned from"


def test_tables_count_the_answers_and_the_regression_is_scikit_learns():
    x, labels = blobs(6)
    found = few_shot_over_draws(x, labels, 2, draws=5)
    for row, share in zip(found.answers, found.accuracy, strict=True):
        asked, learned = np.flatnonzero(row >= 0), np.flatnonzero(row < 0)
        train, test = whiten(x[learned], x[asked])
        theirs = (
            Ridge(RIDGE_PENALTY, fit_intercept=False).fit(train, 2.0 * (labels[learned][:, None] == np.arange(3)) - 1).predict(test)
        )
        assert (theirs.argmax(1) == row[asked]).all()
        assert share == pytest.approx(np.mean(labels[asked] == row[asked]))
    table = found.confusion(labels)
    assert table.sum(1) == pytest.approx(np.ones(3)) and 0 < found.accuracy.mean() < 1
    assert np.diag(table).mean() == pytest.approx(found.accuracy.mean()), "classes of one size"
    other, missed = found.most_frequent_errors(labels), found.error_rates(labels)
    assert ((other >= 0) == (missed > 0)).all() and (other != labels).all()
    worst = int(missed.argmax())
    wrong = [row[worst] for row in found.answers if row[worst] not in (-1, labels[worst])]
    assert wrong.count(other[worst]) == max(map(wrong.count, wrong))
    low, high = found.interval
    assert low <= found.accuracy.mean() <= high


def test_a_class_with_too_few_is_named():
    x, labels = blobs(1)
    with pytest.raises(TooFewPhotos):
        few_shot_over_draws(x, labels, 9)
