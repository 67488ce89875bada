"""Few-shot accuracy is big_vision's: the same photos, the same ridge regression (against scikit-learn), the same answer."""

import numpy as np
import pytest

from vitcore.train.evaluation.few_shot import (
    CONSTANT_FEATURE,
    RIDGE_PENALTY,
    SEEDS,
    SHOTS,
    TooFewPhotosError,
    choose_shots,
    few_shot_accuracy,
    few_shot_over_draws,
    ridge_predictions,
    ridge_scores,
    standardise_features,
)


def random_set(classes=4, each=40, width=24, seed=0):
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(classes), each)
    x = rng.normal(size=(classes * each, width)) + 1.2 * rng.normal(size=(classes, width))[y]
    order = rng.permutation(len(y))
    return (x[order] * rng.uniform(0.1, 9, width)).astype(np.float32), y[order]


def digits():
    from sklearn.datasets import load_digits

    x, y = load_digits(return_X_y=True)
    return x.astype(np.float32), y


SETS = {
    "primal, random": (random_set, 25),  # N 100 ≥ D+1 25
    "dual, random": (lambda: random_set(width=300), 25),  # N 100 < D+1 301
    "square, random": (lambda: random_set(width=39), 10),  # N 40 = D+1
    "primal, digits": (digits, 25),  # 250 ≥ 65
    "dual, digits": (digits, 5),  # 50 < 65
    "one shot": (digits, 1),
}


@pytest.mark.parametrize("solver", ["auto", "svd"])
@pytest.mark.parametrize("name", SETS)
def test_it_is_ridge_regression(name, solver):
    from sklearn.linear_model import Ridge

    make, shots = SETS[name]
    x, y = make()
    rows = choose_shots(y, shots, 0)
    train, rest = standardise_features(x[rows], x)
    targets = np.where(y[rows][:, None] == np.arange(y.max() + 1), 1.0, -1.0)
    expected = Ridge(alpha=RIDGE_PENALTY, fit_intercept=False, solver=solver).fit(train, targets).predict(rest)
    assert np.abs(ridge_scores(x[rows], y[rows], x) - expected).max() < 1e-4
    assert np.array_equal(ridge_predictions(x[rows], y[rows], x), expected.argmax(1))


def test_features_are_whitened_by_the_photos_learned_from():
    x = random_set()[0]
    train, rest = standardise_features(x[:50], x[50:])
    assert train.shape == (50, 25) and rest.shape == (110, 25)
    assert CONSTANT_FEATURE == 100 and (train[:, -1] == 100).all() and (rest[:, -1] == 100).all()
    assert np.allclose(train[:, :-1].mean(0), 0, atol=1e-9) and np.allclose(train[:, :-1].std(0), 1, atol=1e-4)
    assert not np.allclose(rest[:, :-1].mean(0), 0, atol=1e-3)


def test_a_feature_that_never_changes_does_no_harm():
    x, y = random_set()
    x[:, 3] = 7
    assert np.isfinite(ridge_scores(x[:80], y[:80], x[80:])).all()


def test_settings_are_the_sources():
    assert (SHOTS, SEEDS, RIDGE_PENALTY) == ((1, 5, 10, 25), 3, 1024)


# Which photos


def test_photos_are_chosen_as_the_source_chooses_them():
    _, y = random_set(classes=3, each=12)
    rng = np.random.default_rng(2)  # fewshot_lsr.py: one generator, every class in turn
    expected = np.concatenate([rng.permutation(np.where(y == c)[0])[:5] for c in range(3)])
    assert np.array_equal(choose_shots(y, 5, seed=2), expected)


def test_each_class_gives_as_many_and_fewer_are_part_of_more():
    _, y = random_set(classes=5, each=30)
    for seed in range(3):
        many = choose_shots(y, 25, seed)
        assert len(set(many)) == 125 and (np.bincount(y[many]) == 25).all()
        assert all(set(choose_shots(y, n, seed)) < set(many) for n in (1, 5, 10))
    assert not np.array_equal(choose_shots(y, 5, 0), choose_shots(y, 5, 1))


def test_classes_with_too_few_photos_are_named():
    y = np.array([0] * 9 + [4] * 3 + [7] * 2)
    assert len(choose_shots(y, 2, 0)) == 6
    with pytest.raises(TooFewPhotosError, match=r"class 4 has 3 photos, not 5 \(2 such classes\)\.$"):
        choose_shots(y, 5, 0)
    named = {"classes": ["cat", "dog", "eel", "fox", "gnu", "hen", "ibis", "jay"]}
    x = np.random.default_rng(0).random((14, 2))
    for ask in (lambda: few_shot_accuracy(x, y, x, y, 5, **named), lambda: few_shot_over_draws(x, y, 5, **named)):
        with pytest.raises(TooFewPhotosError, match=r"class gnu has 3 photos, not 5 \(2 such classes\)\.$"):
            ask()
    with pytest.raises(TooFewPhotosError, match="class fox is tested"):
        few_shot_accuracy(x, y, x, np.where(y == 4, 3, y), 1, **named)
    x = np.zeros((14, 2))
    with pytest.raises(TooFewPhotosError, match="class 3 is tested"):
        few_shot_accuracy(x, y, x, np.where(y == 4, 3, y), 1)
    for given in ((x[:0], y[:0], x[:0], y[:0]), (x, y, x, y, 0)):
        with pytest.raises(TooFewPhotosError):
            few_shot_accuracy(*given)


# Accuracy


def halves(x, y):
    return x[::2], y[::2], x[1::2], y[1::2]


def test_accuracy_of_digits_rises_with_shots_as_that_of_the_formula():
    train_x, train_y, test_x, test_y = halves(*digits())
    found = few_shot_accuracy(train_x, train_y, test_x, test_y)
    assert list(found) == [1, 5, 10, 25] and 0.25 < found[1] and 0.85 < found[25] < 1
    assert list(found.values()) == sorted(found.values())
    each = [
        np.mean(ridge_predictions(train_x[r], train_y[r], test_x) == test_y)
        for r in (choose_shots(train_y, 5, s) for s in range(3))
    ]
    assert few_shot_accuracy(train_x, train_y, test_x, test_y, 5) == {5: pytest.approx(np.mean(each))}


def test_names_of_classes_do_not_matter():
    x, y = random_set(classes=6)
    other = np.array([40, 3, 17, 8, 0, 25])
    rows = choose_shots(y, 10, 0)
    assert np.array_equal(ridge_predictions(x[rows], other[y[rows]], x), other[ridge_predictions(x[rows], y[rows], x)])


def test_order_and_scale_of_features_do_not_matter():
    x, y = random_set()
    train_x, train_y, test_x, test_y = halves(x, y)
    moved = np.random.default_rng(1).permutation(x.shape[1])
    plain = few_shot_accuracy(train_x, train_y, test_x, test_y, 5)
    assert few_shot_accuracy(3 * train_x[:, moved] + 1, train_y, 3 * test_x[:, moved] + 1, test_y, 5) == plain


def test_features_that_say_nothing_are_right_by_chance():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2000, 16)), rng.integers(0, 4, 2000)
    assert few_shot_accuracy(*halves(x, y), 10)[10] == pytest.approx(0.25, abs=0.03)


# Over draws: every photo is learned from or asked about, and the tables are counts of the answers


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
    from sklearn.linear_model import Ridge

    x, labels = blobs(6)
    found = few_shot_over_draws(x, labels, 2, draws=5)
    for row, share in zip(found.answers, found.accuracy, strict=True):
        asked, learned = np.flatnonzero(row >= 0), np.flatnonzero(row < 0)
        train, test = standardise_features(x[learned], x[asked])
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
    with pytest.raises(TooFewPhotosError):
        few_shot_over_draws(x, labels, 9)
