"""PrivateClassifier next to the logistic regression of diffprivlib (github.com/IBM/differential-privacy-library).

    PROACTIVEDP_DATA=/data python3 examples/python/next_to_diffprivlib.py

It needs proactivedp, NumPy, scikit-learn and diffprivlib, and the files libsvm/phishing and
libsvm/mushrooms in the folder $PROACTIVEDP_DATA. It prints a table in Markdown. For each table, ε and
library it trains with five splits and seeds, four fifths of the records for training.

The guarantees are not the same. diffprivlib perturbs the objective (Chaudhuri, Monteleoni and Sarwate,
JMLR 2011): pure ε-differential privacy if one record is replaced, for an optimum that it assumes is exact.
PrivateClassifier trains by DP-SGD: (ε, δ) with δ ≤ 1/(10N) if one record is added or removed. Both get
the same public bounds. diffprivlib also gets the largest norm that a row can have.
"""
import os
import sys
import time
import warnings

import diffprivlib
import numpy as np
import sklearn
from diffprivlib.models import LogisticRegression
from proactivedp.sklearn import PrivateClassifier
from sklearn.datasets import load_svmlight_file
from sklearn.metrics import roc_auc_score

EPSILONS = 0.1, 0.5, 1, 3
SEEDS = range(1, 6)


def public(name):
    """A data set of LIBSVM with columns in [0, 1], and the largest norm of a row. LIBSVM's page says that the rows of
    phishing have unit length, and that mushrooms has one-hot groups of all 22 attributes but one."""
    X, y = load_svmlight_file(os.path.join(os.environ["PROACTIVEDP_DATA"], "libsvm", name))
    X = X.toarray()
    return X, (y == y.max()).astype(int), 1.0 if name == "phishing" else 21 ** 0.5


def drawn(rows, numbers, groups, positive, seed):
    """A table with numbers in [0, 1], skewed like incomes, and one-hot groups of categories. A logistic model with
    products of columns gives the labels, and one in twenty is replaced by chance."""
    draw = np.random.default_rng(seed)
    parts = [np.minimum(draw.lognormal(-2, 1, (rows, numbers)), 1)]
    for size in groups:
        shares = draw.dirichlet(np.ones(size))
        parts.append(np.eye(size)[draw.choice(size, rows, p=shares)])
    X = np.hstack(parts)
    z = X @ draw.normal(0, 1.5, X.shape[1]) + 3 * X[:, 0] * X[:, numbers]
    y = (z + draw.logistic(0, 1, rows) > np.quantile(z, 1 - positive)).astype(int)
    chance = draw.random(rows) < 0.05
    y[chance] = draw.random(chance.sum()) < positive
    return X, y, (numbers + len(groups)) ** 0.5


def tables():
    yield "phishing", *public("phishing")
    yield "mushrooms", *public("mushrooms")
    yield "like Adult (32,561 × 108)", *drawn(32561, 6, [9, 16, 7, 15, 6, 5, 2, 42], 0.24, 1)
    yield "like credit (30,000 × 23)", *drawn(30000, 14, [2, 4, 3], 0.22, 2)


def main():
    # diffprivlib 0.6.4 divides its noise by N for the mean loss of scikit-learn 1.4. Older versions of scikit-learn
    # have the sum of the losses, beside which this noise is N times too small and protects nothing.
    ours, theirs = ([int(part) for part in of.__version__.split(".")[:3]] for of in (diffprivlib, sklearn))
    if (ours >= [0, 6, 4]) != (theirs >= [1, 4]):
        sys.exit(f"diffprivlib {diffprivlib.__version__} does not fit scikit-learn {sklearn.__version__}: "
                 "from 0.6.4 on it needs 1.4 or newer, and before an older one")
    warnings.simplefilter("ignore")  # diffprivlib warns if its solver stops early
    print("| table | ε | PrivateClassifier: accuracy | AUC | s | diffprivlib: accuracy | AUC | s |")
    print("|---|---|---|---|---|---|---|---|")
    for name, X, y, norm in tables():
        for epsilon in EPSILONS:
            figures = {0: [], 1: []}
            for seed in SEEDS:
                order = np.random.default_rng(seed).permutation(len(y))
                train, test = order[: len(y) * 4 // 5], order[len(y) * 4 // 5:]
                for which, model in enumerate((
                    PrivateClassifier(epsilon=epsilon, bounds=(0, 1), classes=[0, 1], random_state=seed),
                    LogisticRegression(epsilon=epsilon, data_norm=norm, random_state=seed, max_iter=1000),
                )):
                    start = time.perf_counter()
                    model.fit(X[train], y[train])
                    took = time.perf_counter() - start
                    p = model.predict_proba(X[test])
                    figures[which].append((np.mean(p.argmax(axis=1) == y[test]), roc_auc_score(y[test], p[:, 1]), took))
            (a, b, c), (d, e, f) = (np.mean(figures[which], axis=0) for which in (0, 1))
            print(f"| {name} | {epsilon} | {a:.4f} | {b:.4f} | {c:.2f} | {d:.4f} | {e:.4f} | {f:.2f} |", flush=True)


if __name__ == "__main__":
    main()
