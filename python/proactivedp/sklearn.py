"""Estimators with the interface of scikit-learn, which need neither scikit-learn nor NumPy.

If NumPy is installed, they return arrays, and otherwise lists. If scikit-learn is installed, it checks the
inputs. Records go to the program in a file that only this user can read, and that is deleted afterwards.
"""
from __future__ import annotations

import array
import csv
import inspect
import json
import os
import struct
import tempfile
import zipfile
from contextlib import contextmanager
from typing import IO, Any, Dict, Iterator, List, Optional, Sequence, Tuple, Union

from ._program import Wrong, flags, listed, number, plain, run, understood

try:
    import numpy as np
except ImportError:
    np = None  # type: ignore[assignment]
try:
    from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
    from sklearn.utils import multiclass, validation
except ImportError:
    validation = None

    class BaseEstimator:  # type: ignore[no-redef]
        """The parameters of an estimator, as scikit-learn gives access to them."""

        def get_params(self, deep: bool = True) -> Dict[str, Any]:
            return {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}

        def set_params(self, **params: Any) -> Any:
            unknown = params.keys() - self.get_params().keys()
            if unknown:
                raise Wrong(f"{', '.join(sorted(unknown))}: {type(self).__name__} has no such parameter")
            for name, value in params.items():
                setattr(self, name, value)
            return self

        def __repr__(self) -> str:
            params = ", ".join(f"{name}={value!r}" for name, value in self.get_params().items())
            return f"{type(self).__name__}({params})"

    class ClassifierMixin:  # type: ignore[no-redef]
        """The accuracy of a classifier."""

        def score(self, X: Any, y: Any) -> float:
            predicted = self.predict(X)  # type: ignore[attr-defined]
            return float(sum(a == b for a, b in zip(predicted, y)) / len(predicted))


    class RegressorMixin:  # type: ignore[no-redef]
        """The coefficient of determination R² of a regressor."""

        def score(self, X: Any, y: Any) -> float:
            predicted, values = self.predict(X), [float(v) for v in y]  # type: ignore[attr-defined]
            mean = sum(values) / len(values)
            residual = sum((a - b) ** 2 for a, b in zip(predicted, values))
            total = sum((b - mean) ** 2 for b in values)
            return float(1 - residual / total) if total else float(not residual)


class _Private(BaseEstimator):  # type: ignore[misc]
    """What the estimators have in common: they train by the program and predict by it."""

    def _train(self, X: Any, y: List[Any], **options: Any) -> None:
        """Trains on all rows of X and keeps the model."""
        for name in "epsilon", "model":
            if getattr(self, name, "") is None:
                raise Wrong(f"{name} = None, must be given")
        seed = ["--seed-from-os"] if self.random_state is None else flags(seed=plain("random_state", self.random_state))
        with _folder() as folder:
            file, columns = _write(folder, X, y, test=True)
            privacy = run("train", "--statement", "--save=model", *flags(
                data=file, clients=1, target_epsilon=plain("epsilon", self.epsilon), delta=self.delta, epochs=self.epochs,
                batch_size=self.batch_size, max_grad_norm=self.max_grad_norm, learning_rate=self.learning_rate, **options),
                *self._bounds(folder, columns), *seed,
                *(flags(features=columns, test="test.libsvm") if file.endswith(".libsvm") else []), cwd=folder).rstrip()
            with understood(), open(os.path.join(folder, "model"), "rb") as saved:
                model = saved.read()
                self.details_: Dict[str, Any] = _header(model)
        self.privacy_, self.model_, self.n_features_in_ = privacy, model, columns

    def _bounds(self, folder: str, columns: int) -> List[str]:
        """The flags of the bounds."""
        if isinstance(self.bounds, str):
            return flags(bounds=self.bounds)
        try:
            low, high = self.bounds  # type: ignore[misc]
        except (TypeError, ValueError):
            raise Wrong(f"bounds = {self.bounds!r:.80}, must be (low, high), each a number or one number per column, or "
                        "'private:EPS', which spends EPS of epsilon on finding them") from None
        if all(getattr(side, "ndim", 0 if not hasattr(side, "__len__") else 1) == 0 for side in (low, high)):
            return flags(normalise=f"bounds:{number('bounds', low)!r},{number('bounds', high)!r}")
        lows, highs = ([number("bounds", v) for v in (side if hasattr(side, "__len__") else [side] * columns)]
                       for side in (low, high))
        if len(lows) != columns or len(highs) != columns:
            raise Wrong(f"bounds has {len(lows)} low and {len(highs)} high ends, must have one for each of {columns} columns")
        with _private(folder, "bounds.csv") as out:
            out.write(b"column,low,high\n")
            out.writelines(f"{j + 1},{a!r},{b!r}\n".encode() for j, (a, b) in enumerate(zip(lows, highs)))
        return flags(normalise="bounds.csv")

    def _predicted(self, X: Any, *options: str) -> Iterator[List[str]]:
        """The lines that `proactivedp predict` writes about the rows of X."""
        if not hasattr(self, "model_"):
            error: Any = Wrong
            if validation:
                from sklearn.exceptions import NotFittedError
                error = NotFittedError
            raise error(f"this {type(self).__name__} is not fitted: call fit first")
        if validation:
            X = _validate(self, X, accept_sparse="csr", dtype=["float64", "float32"], reset=False)
        with _folder() as folder:
            file, columns = _write(folder, X)
            if columns != self.n_features_in_:
                raise Wrong(f"X has {columns} columns, must have the {self.n_features_in_} of fit")
            with _private(folder, "model") as out:
                out.write(self.model_)
            run("predict", "model", *options, "--out=labels.csv", *flags(data=file),
                *(["--unlabelled"] if file.endswith(".libsvm") else []), cwd=folder)
            with open(os.path.join(folder, "labels.csv"), newline="") as lines:
                rows = csv.reader(lines)
                next(rows)
                yield from rows


class PrivateClassifier(ClassifierMixin, _Private):  # type: ignore[misc]
    """A classifier that is trained with (ε, δ)-differential privacy for each row, by DP-SGD.

    The guarantee covers adding or removing one row. It does not cover the number of rows.

    epsilon, delta
        The budget. Without delta it is the largest power of ten that is at most 1/(10N).
    model
        "logreg" (for more than two classes softmax regression), "softmax" or "mlp", or "mlp:64:32" with hidden
        layers of these widths.
    bounds
        Public bounds of the columns, (low, high), each a number or one number per column: values outside are
        clamped, and the range is scaled to [0, 1]. "private:0.1" finds bounds with noise instead, and ε = 0.1
        of epsilon is spent on that. Bounds are never found in the data without noise.
    classes
        All labels that may occur, which are public. They are not found in the data.
    random_state
        None draws the noise from the operating system, as a release needs. A whole number makes the training
        repeatable: then it is a simulation, which protects nobody.
    epochs, batch_size, max_grad_norm, learning_rate
        Settings of DP-SGD. Those that are not given follow from the number of rows and columns, and ε.

    After fit, privacy_ is the privacy statement, details_ has all settings and bounds on ε, and model_ is the
    content of a model file for `proactivedp predict`.
    """

    def __init__(self, epsilon: float = 1.0, delta: Optional[float] = None, model: str = "logreg",
                 bounds: Union[None, str, Tuple[Any, Any]] = None, classes: Optional[Sequence[Any]] = None,
                 random_state: Optional[int] = None, epochs: Optional[float] = None, batch_size: Optional[int] = None,
                 max_grad_norm: Optional[float] = None, learning_rate: Optional[float] = None) -> None:
        self.epsilon, self.delta, self.model, self.bounds, self.classes = epsilon, delta, model, bounds, classes
        self.random_state, self.epochs, self.batch_size = random_state, epochs, batch_size
        self.max_grad_norm, self.learning_rate = max_grad_norm, learning_rate

    def fit(self, X: Any, y: Any) -> PrivateClassifier:
        """Trains on all rows of X. It spends the whole budget on them, every time that it is called."""
        if validation:
            X, y = _validate(self, X, y, accept_sparse="csr", dtype=["float64", "float32"])
            multiclass.check_classification_targets(y)
        labels = self._labels(y)
        values = y.tolist() if hasattr(y, "tolist") else listed("y", y)
        try:
            number_of = {label: i for i, label in enumerate(labels)}
            unknown = [value for value in values if value not in number_of]
        except TypeError as error:
            raise Wrong(f"classes and y must have numbers, strings or bools: {error}") from None
        if len(number_of) < 2 or len(number_of) < len(labels):
            raise Wrong(f"classes has {len(number_of)} class{'es' * (len(number_of) != 1)} in {len(labels)} values, must "
                        "have at least two, each once")
        if unknown:
            raise Wrong(f"y has the label {unknown[0]!r:.80}, which is not one of classes")
        model = "softmax" if self.model == "logreg" and len(number_of) > 2 else self.model
        self._train(X, [number_of[value] for value in values], model=model, label_map=f"0..{len(number_of) - 1}")
        self.classes_ = labels if np is None else np.asarray(labels)
        return self

    def predict(self, X: Any) -> Any:
        """The most probable class of each row. It costs no privacy."""
        chosen = [int(row[1]) for row in self._predicted(X, "--scores")]
        return [self.classes_[i] for i in chosen] if np is None else self.classes_[chosen]

    def predict_proba(self, X: Any) -> Any:
        """The probability of each of classes_, for each row."""
        rows = [[float(p) for p in row[2:]] for row in self._predicted(X, "--scores")]
        return rows if np is None else np.asarray(rows)

    def _labels(self, y: Any) -> List[Any]:
        if self.classes is None:
            raise Wrong("classes is missing, must list all labels that may occur: that is public, and not found in y")
        return [label.item() if hasattr(label, "item") else label for label in listed("classes", self.classes)]

    def _more_tags(self) -> Dict[str, Any]:  # scikit-learn before 1.6
        return {"poor_score": True, "non_deterministic": self.random_state is None}

    def __sklearn_tags__(self) -> Any:  # scikit-learn from 1.6 on
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.non_deterministic = self.random_state is None
        tags.classifier_tags.poor_score = True  # noise on few records leaves little accuracy
        return tags


class PrivateRegressor(RegressorMixin, _Private):  # type: ignore[misc]
    """Linear regression that is trained with (ε, δ)-differential privacy for each row, by DP-SGD.

    The parameters are those of PrivateClassifier, except that target_bounds takes the place of model and classes.

    target_bounds
        Public bounds (low, high) of the numbers in y. Numbers outside count as the nearer bound, and predictions
        are within the bounds. They are not found in the data.
    """

    def __init__(self, epsilon: float = 1.0, delta: Optional[float] = None,
                 bounds: Union[None, str, Tuple[Any, Any]] = None, target_bounds: Optional[Tuple[float, float]] = None,
                 random_state: Optional[int] = None, epochs: Optional[float] = None, batch_size: Optional[int] = None,
                 max_grad_norm: Optional[float] = None, learning_rate: Optional[float] = None) -> None:
        self.epsilon, self.delta, self.bounds, self.target_bounds = epsilon, delta, bounds, target_bounds
        self.random_state, self.epochs, self.batch_size = random_state, epochs, batch_size
        self.max_grad_norm, self.learning_rate = max_grad_norm, learning_rate

    def fit(self, X: Any, y: Any) -> PrivateRegressor:
        """Trains on all rows of X. It spends the whole budget on them, every time that it is called."""
        if validation:
            X, y = _validate(self, X, y, accept_sparse="csr", dtype=["float64", "float32"], y_numeric=True,
                             ensure_min_samples=2)
        try:
            low, high = self.target_bounds  # type: ignore[misc]
        except (TypeError, ValueError):
            raise Wrong(f"target_bounds = {self.target_bounds!r:.80}, must be (low, high): they are public, and not found in "
                        "y") from None
        low, high = number("target_bounds", low), number("target_bounds", high)
        values = [number(f"y[{i}]", value) for i, value in enumerate(listed("y", y))]
        self._train(X, values, model="linear", target_bounds=f"{low!r},{high!r}")
        return self

    def predict(self, X: Any) -> Any:
        """The predicted number of each row, within target_bounds. It costs no privacy."""
        values = [float(row[1]) for row in self._predicted(X)]
        return values if np is None else np.asarray(values)

    def _more_tags(self) -> Dict[str, Any]:  # scikit-learn before 1.6
        return {"poor_score": True, "non_deterministic": self.random_state is None}

    def __sklearn_tags__(self) -> Any:  # scikit-learn from 1.6 on
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.non_deterministic = self.random_state is None
        tags.regressor_tags.poor_score = True  # noise on few records leaves little accuracy
        return tags


def _validate(estimator: Any, *arguments: Any, **options: Any) -> Any:
    """Checks the inputs of an estimator as scikit-learn does."""
    validate = getattr(validation, "validate_data", None)  # from 1.6 on
    try:
        if validate:
            return validate(estimator, *arguments, **options)
        return estimator._validate_data(*arguments, **options)
    except OverflowError as error:
        raise Wrong(str(error)) from None


@contextmanager
def _folder() -> Iterator[str]:
    """A folder that only this user can open, and that is deleted afterwards."""
    with tempfile.TemporaryDirectory(prefix="proactivedp-") as folder:
        yield folder


def _private(folder: str, name: str) -> IO[bytes]:
    """A new file that only this user can read."""
    return open(os.open(os.path.join(folder, name), os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0),
                        0o600), "wb")


def _write(folder: str, X: Any, y: Optional[List[Any]] = None, test: bool = False) -> Tuple[str, int]:
    """Writes rows, with numbers of classes or targets y if they have some, and returns the name of the file and the number of columns.

    If test is set, the test set is one row of zeros: all rows of X are for training.
    """
    if hasattr(X, "tocsr"):
        if y is not None and len(y) != X.shape[0]:
            raise Wrong(f"X has {X.shape[0]} rows and y has {len(y)} values, must be as many")
        X = _finite(X.tocsr())
        if not X.has_canonical_format:
            X = X.copy()  # the caller's stays as it is
            X.sum_duplicates()
        starts, ids, values = X.indptr.tolist(), X.indices.tolist(), X.data.tolist()
        with _private(folder, "records.libsvm") as out:
            for i, (start, end) in enumerate(zip(starts, starts[1:])):
                cells = "".join(f" {ids[k] + 1}:{values[k]!r}" for k in range(start, end))
                out.write(f"{y[i] if y else 0}{cells}\n".encode())
        if test:
            with _private(folder, "test.libsvm") as out:
                out.write(b"0 1:0\n")
        return "records.libsvm", X.shape[1]
    shape, kind, content = _matrix(X)
    with _private(folder, "records.npz") as out, zipfile.ZipFile(out, "w") as archive:
        _add(archive, "x", shape, kind, content)
        if y is not None:
            if len(y) != shape[0]:
                raise Wrong(f"X has {shape[0]} rows and y has {len(y)} values, must be as many")
            real = any(isinstance(value, float) for value in y)
            _add(archive, "y", (len(y),), "<f8" if real else "<i8",
                 struct.pack(f"<{len(y)}{'d' if real else 'q'}", *y))
        if test:
            _add(archive, "x_test", (1, shape[1]), kind, bytes(shape[1] * int(kind[2:])))
            _add(archive, "y_test", (1,), "<i8", bytes(8))
    return "records.npz", shape[1]


def _matrix(X: Any) -> Tuple[Tuple[int, int], str, Any]:
    """The shape, the type and the content of the rows X."""
    if np is not None:
        a = np.ascontiguousarray(_finite(X))
        return (a.shape[0], a.shape[1]), a.dtype.str, a.data.cast("B")
    rows = [[number(f"X[{i}]", value) for value in listed(f"X[{i}]", row)] for i, row in enumerate(listed("X", X))]
    if not rows or not rows[0] or any(len(row) != len(rows[0]) for row in rows):
        raise Wrong("X must have rows of the same number of columns, at least one of each")
    content = array.array("d", (value for row in rows for value in row))
    if struct.pack("=d", 1) != struct.pack("<d", 1):
        content.byteswap()
    return (len(rows), len(rows[0])), "<f8", memoryview(content).cast("B")


def _finite(X: Any) -> Any:
    """The rows of an array or a sparse matrix as float32 or float64."""
    try:
        if not hasattr(X, "tocsr"):
            X = np.asarray(X)
        if X.dtype.kind not in "biufO":
            raise TypeError(f"{X.dtype} is not a type of numbers")
        X = X.astype("<f4" if X.dtype == np.float32 else "<f8", copy=False)
    except (TypeError, ValueError, OverflowError) as error:
        raise Wrong(f"X must have rows of numbers: {error}") from None
    if X.ndim != 2 or 0 in X.shape:
        raise Wrong(f"X has the shape {X.shape}, must have rows and columns")
    values = X.data if hasattr(X, "tocsr") else X
    if not np.isfinite(values).all():
        raise Wrong("X has values that are infinite or not a number, must be finite")
    return X


def _add(archive: zipfile.ZipFile, name: str, shape: Tuple[int, ...], kind: str, content: Any) -> None:
    """Adds an array in the format .npy, version 1.0."""
    header = repr({"descr": kind, "fortran_order": False, "shape": shape})
    header += " " * (-(len(header) + 11) % 64) + "\n"
    with archive.open(name + ".npy", "w", force_zip64=True) as out:
        out.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
        out.write(content)


def _header(model: bytes) -> Dict[str, Any]:
    """The JSON header of a model file: magic, version, length, header."""
    at = model.index(b"\n") + 1 + 8
    (size,) = struct.unpack_from("<Q", model, at)
    return json.loads(model[at + 8:at + 8 + size])  # type: ignore[no-any-return]
