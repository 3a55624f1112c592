"""PrivateClassifier, with and without NumPy, SciPy, pandas and scikit-learn."""
import glob
import os
import pickle
import random
import stat
import subprocess
import sys
import tempfile
import unittest
import warnings
from unittest import mock

import proactivedp
from proactivedp import PrivateClassifier, PrivateRegressor, Wrong
from proactivedp import sklearn as estimators

try:
    import sklearn
except ImportError:
    sklearn = None


def rows(count=1000):
    draw = random.Random(1)
    X = [[draw.gauss(0, 1), draw.gauss(0, 1)] for _ in range(count)]
    return X, ["yes" if a + b > 0 else "no" for a, b in X]


def classifier(**options):
    return PrivateClassifier(**{"bounds": (-3, 3), "classes": ["no", "yes"], "random_state": 1, **options})


class TestClassifier(unittest.TestCase):
    def test_it_learns_within_its_budget(self) -> None:
        X, y = rows()
        c = classifier(epsilon=2, delta=1e-6).fit(X, y)
        self.assertGreater(c.score(X, y), 0.9)
        self.assertEqual(list(c.classes_), ["no", "yes"])
        for probabilities, label in zip(c.predict_proba(X), c.predict(X)):
            self.assertAlmostEqual(sum(probabilities), 1, 6)
            self.assertEqual(label, "yes" if probabilities[1] > probabilities[0] else "no")
        record = c.details_["privacy"]["per_record"]
        self.assertTrue(1.9 < record["epsilon_upper"] <= 2)
        self.assertEqual((record["delta"], record["dataset_size"]), (1e-6, len(X)))  # no row is kept for a test
        self.assertIn("SIMULATION", c.privacy_)
        self.assertIn("seed 1", c.privacy_)

    def test_a_release_has_noise_of_the_operating_system(self) -> None:
        X, y = rows(200)
        one, two = (classifier(random_state=None).fit(X, y) for _ in range(2))
        self.assertNotIn("SIMULATION", one.privacy_)
        self.assertNotEqual(one.details_["params_sha256"], two.details_["params_sha256"])
        self.assertEqual(one.details_["data_sha256"], "")

    def test_a_seed_repeats(self) -> None:
        X, y = rows(200)
        self.assertEqual(classifier().fit(X, y).model_, classifier().fit(X, y).model_)

    def test_bounds(self) -> None:
        X, y = rows()
        for bounds in ([-3, -3], [3, 3]), (-3, [3, 3]):
            self.assertEqual(classifier(bounds=bounds).fit(X, y).details_["params_sha256"],
                             classifier().fit(X, y).details_["params_sha256"])
        private = classifier(bounds="private:0.25", epsilon=1).fit(X, y)
        self.assertIn("including ε = 0.25 for the private bounds", private.privacy_)
        self.assertLessEqual(private.details_["privacy"]["per_record"]["epsilon_upper"], 1)

    def test_several_classes_and_models(self) -> None:
        X, _ = rows()
        y = [(a > 0) + (b > 0) for a, b in X]
        c = classifier(classes=[0, 1, 2, 3], epsilon=8).fit(X, y)
        self.assertEqual(c.details_["config"]["model"], "softmax")
        self.assertEqual(len(c.predict_proba(X)[0]), 4)
        self.assertGreater(c.score(X, y), 0.6)
        self.assertEqual(classifier(classes=[0, 1, 2], model="mlp:4").fit(X, y).details_["config"]["model"], "mlp:4")

    def test_what_is_not_public_is_refused(self) -> None:
        X, y = rows(50)
        for options, text in [
            ({"classes": None}, "classes is missing"),
            ({"classes": ["no"]}, "classes has 1 class"),
            ({"classes": ["no", "no"]}, "each once"),
            ({"classes": ["no", "maybe"]}, "'yes', which is not one of classes"),
            ({"bounds": None}, "bounds = None, must be (low, high)"),
            ({"bounds": ([0], 1)}, "bounds has 1 low and 2 high ends"),
            ({"bounds": (3, -3)}, "normalise"),
            ({"bounds": "private:0"}, "bounds"),
            ({"epsilon": -1}, "--target-epsilon = -1, must be in"),
            ({"epsilon": float("inf")}, "epsilon = inf, must be finite"),
            ({"epsilon": None}, "epsilon = None, must be given"),
            ({"model": None}, "model = None, must be given"),
            ({"model": "tree"}, "tree"),
            ({"random_state": -1}, "seed"),
            ({"random_state": random.Random(1)}, "random_state = <random.Random"),
            ({"bounds": (0, 10**400)}, "bounds = 1000"),
            ({"bounds": ("a", 1)}, "bounds = 'a', must be a number"),
            ({"bounds": ([0, float("nan")], 1)}, "bounds = nan, must be finite"),
            ({"bounds": "private:5"}, "--target-epsilon = 1, must be above the ε of the private bounds, 5"),
            ({"classes": 5}, "classes = 5, must be a list of values"),
            ({"classes": [["no"], ["yes"]]}, "unhashable"),
            ({"epsilon": [1]}, "epsilon = [1], must be a number"),
            ({"epochs": 10**5000}, "epochs has 16610 binary digits"),
        ]:
            with self.subTest(options=options), self.assertRaises(Wrong) as raised:
                classifier(**options).fit(X, y)
            self.assertIn(text, str(raised.exception))
        with self.assertRaisesRegex(ValueError, "not fitted"):
            classifier().predict(X)

    def test_rows_that_are_not_numbers_are_refused(self) -> None:
        X, y = rows(50)
        c = classifier().fit(X, y)
        for wrong in ([[1.0, float("nan")]], [[1.0, float("inf")]], [[1.0]], [[1.0, 2.0, 3.0]], [], [[]], [1.0, 2.0],
                      [["a", "b"]], [[1.0, 2.0], [1.0]], [[1.0, 10**400]], [[1.0, None]], None, 5, "12"):
            # scikit-learn, where it is installed, has its own errors.
            for what in lambda: c.predict(wrong), lambda: classifier().fit(wrong, y[:1] * 2):
                with self.subTest(wrong=str(wrong)[:40]), self.assertRaises(Exception) as raised:
                    what()
                self.assertIsInstance(raised.exception, (ValueError, TypeError) if estimators.validation else Wrong)
        for labels in None, 5, [["no", "no"]] * 50, y[:49]:
            with self.subTest(labels=str(labels)[:40]), self.assertRaises(Exception) as raised:
                classifier().fit(X, labels)
            self.assertIsInstance(raised.exception, (ValueError, TypeError) if estimators.validation else Wrong)

    def test_a_budget_that_no_setting_meets(self) -> None:
        X, y = rows(50)
        for options in {}, {"batch_size": 10}:
            with self.subTest(options=options), self.assertRaises(proactivedp.Infeasible) as raised:
                classifier(epsilon=1e-7, delta=1e-15, **options).fit(X, y)
            self.assertIn("even σ = 1e+06 costs ε", str(raised.exception))

    def test_an_error_is_only_the_program_s(self) -> None:
        """What train says about the settings that it chose is not a part of it."""
        X, y = rows(50)
        run = estimators.run

        def elsewhere(*arguments, cwd):
            return run(*[a.replace("--save=model", "--save=" + os.path.join(cwd, "no", "model")) for a in arguments], cwd=cwd)
        with mock.patch.object(estimators, "run", elsewhere), self.assertRaises(proactivedp.Error) as raised:
            classifier().fit(X, y)
        self.assertRegex(str(raised.exception), r"\A\S+model: .*\Z")
        self.assertNotIsInstance(raised.exception, Wrong)

    def test_records_are_private_and_do_not_stay(self) -> None:
        modes = []
        run = estimators.run

        def looking(*arguments, cwd):
            modes.append({name: stat.S_IMODE(os.stat(os.path.join(cwd, name)).st_mode) for name in os.listdir(cwd)})
            modes.append({".": stat.S_IMODE(os.stat(cwd).st_mode)})
            return run(*arguments, cwd=cwd)
        X, y = rows(50)
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(tempfile, "tempdir", folder), \
                mock.patch.object(estimators, "run", looking):
            classifier(bounds=([-3, -3], 3)).fit(X, y).predict(X)
            self.assertEqual(os.listdir(folder), [])
            with self.assertRaises(Wrong):
                classifier(epsilon=-1).fit(X, y)
            self.assertEqual(os.listdir(folder), [])
        self.assertEqual(modes[0], {"records.npz": 0o600, "bounds.csv": 0o600})
        self.assertEqual(modes[1], {".": 0o700})
        self.assertEqual(modes[2], {"records.npz": 0o600, "model": 0o600})

    def test_a_model_is_kept_with_the_estimator(self) -> None:
        X, y = rows(100)
        c = classifier().fit(X, y)
        self.assertEqual(list(pickle.loads(pickle.dumps(c)).predict(X)), list(c.predict(X)))
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "m"), "wb") as out:
                out.write(c.model_)
            with open(os.path.join(folder, "x.csv"), "w") as out:
                out.write("1,2\n" + "".join(f"{a},{b}\n" for a, b in X))
            printed = subprocess.run([proactivedp.program(), "predict", out.name[:-5] + "m", "--data", out.name,
                                      "--header-line=1"], capture_output=True, encoding="utf-8", check=True).stdout
        labels = [c.classes_[int(line.split(",")[1])] for line in printed.splitlines()[1:]]
        self.assertEqual(labels, list(c.predict(X)))

    def test_parameters(self) -> None:
        c = classifier(epsilon=3)
        self.assertEqual(c.get_params()["epsilon"], 3)
        self.assertEqual(PrivateClassifier(**c.get_params()).get_params(), c.get_params())
        self.assertEqual(c.set_params(epsilon=4).epsilon, 4)
        with self.assertRaises(ValueError):
            c.set_params(eps=4)
        self.assertIn("epsilon=4", repr(c))

    @unittest.skipIf(sklearn is None and estimators.np is None, "this is how all tests run")
    def test_it_needs_no_other_package(self) -> None:
        """The same tests in a process that has neither NumPy nor scikit-learn."""
        code = "import sys, unittest; sys.modules.update(numpy=None, sklearn=None); unittest.main('test_sklearn')"
        package = os.path.dirname(os.path.dirname(os.path.abspath(proactivedp.__file__)))
        ran = subprocess.run([sys.executable, "-c", code], cwd=os.path.dirname(os.path.abspath(__file__)),
                             env={**os.environ, "PYTHONPATH": package}, capture_output=True, encoding="utf-8")
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertIn("skipped=", ran.stderr)


def regressor(**options):
    return PrivateRegressor(**{"bounds": (-3, 3), "target_bounds": (-10, 30), "random_state": 1, **options})


class TestRegressor(unittest.TestCase):
    def test_it_learns_within_its_budget(self) -> None:
        X, _ = rows(2000)
        y = [10 + 3 * a - 2 * b for a, b in X]
        r = regressor(epsilon=2, delta=1e-6).fit(X, y)
        self.assertGreater(r.score(X, y), 0.8)
        self.assertTrue(all(-10 <= value <= 30 for value in r.predict(X)))
        self.assertEqual(r.details_["config"]["model"], "linear")
        self.assertEqual(r.details_["inputs"]["target_bounds"], {"low": -10, "high": 30})
        record = r.details_["privacy"]["per_record"]
        self.assertTrue(1.9 < record["epsilon_upper"] <= 2)
        self.assertEqual((record["delta"], record["dataset_size"]), (1e-6, len(X)))
        self.assertEqual(r.fit(X, y).model_, regressor(epsilon=2, delta=1e-6).fit(X, y).model_)

    def test_targets_outside_are_clamped(self) -> None:
        X, _ = rows(200)
        far = [1e9 if a > 0 else -1e9 for a, _ in X]
        near = [30.0 if a > 0 else -10.0 for a, _ in X]
        self.assertEqual(regressor().fit(X, far).details_["params_sha256"], regressor().fit(X, near).details_["params_sha256"])

    def test_what_is_not_public_is_refused(self) -> None:
        X, _ = rows(50)
        for options, text in [
            ({"target_bounds": None}, "target_bounds = None, must be (low, high)"),
            ({"target_bounds": (1, 2, 3)}, "must be (low, high)"),
            ({"target_bounds": (3, -3)}, "LOW < HIGH"),
            ({"bounds": None}, "bounds = None, must be (low, high)"),
        ]:
            with self.subTest(options=options), self.assertRaises(Wrong) as raised:
                regressor(**options).fit(X, [float(a) for a, _ in X])
            self.assertIn(text, str(raised.exception))
        with self.assertRaisesRegex(ValueError, r"y\[1\] = inf, must be finite|Input y contains (NaN|infinity)"):
            regressor().fit(X, [0.0, float("inf")] + [float("nan")] * 48)
        with self.assertRaisesRegex(ValueError, "not fitted"):
            regressor().predict(X)

    def test_parameters(self) -> None:
        r = regressor(epsilon=3)
        self.assertEqual(PrivateRegressor(**r.get_params()).get_params(), r.get_params())


class Found(PrivateClassifier):
    """The checks of scikit-learn make up labels. Only for them, labels are found in y."""

    def _labels(self, y):
        return estimators.np.unique(y).tolist()


@unittest.skipIf(estimators.np is None, "needs NumPy")
class TestArrays(unittest.TestCase):
    def test_arrays_are_as_lists(self) -> None:
        import numpy as np
        X, y = rows(300)
        want = classifier().fit(X, y)
        for given in np.array(X), np.asfortranarray(X), np.array(X)[:, ::-1][:, ::-1]:
            c = classifier().fit(given, np.array(y))
            self.assertEqual(c.details_["params_sha256"], want.details_["params_sha256"])
        self.assertIsInstance(c.predict(given), np.ndarray)
        self.assertEqual(c.predict_proba(given).shape, (300, 2))
        self.assertEqual(c.predict(np.float32(given)).tolist(), c.predict(given).tolist())


@unittest.skipIf(sklearn is None, "needs scikit-learn")
class TestScikitLearn(unittest.TestCase):
    def test_sparse_rows(self) -> None:
        import numpy as np
        import scipy.sparse as sparse
        draw = np.random.default_rng(1)
        X = sparse.csr_matrix(draw.random((1000, 40)) < 0.1, dtype=float)
        y = X[:, 0].toarray().ravel() > 0
        options = {"bounds": (0, 1), "classes": [False, True], "epsilon": 4}
        c = classifier(**options).fit(X, y)
        dense = classifier(**options).fit(X.toarray(), y)
        self.assertEqual(c.details_["params_sha256"], dense.details_["params_sha256"])
        self.assertEqual(c.n_features_in_, 40)
        for same in X, X.tocoo(), X.toarray():
            self.assertEqual(c.predict(same).tolist(), dense.predict(X).tolist())

    def test_frames(self) -> None:
        try:
            import pandas as pd
        except ImportError:
            self.skipTest("needs pandas")
        X, y = rows(200)
        frame = pd.DataFrame(X, columns=["a", "b"])
        c = classifier().fit(frame, pd.Series(y))
        self.assertEqual(c.feature_names_in_.tolist(), ["a", "b"])
        self.assertEqual(c.details_["params_sha256"], classifier().fit(X, y).details_["params_sha256"])
        with self.assertRaisesRegex(ValueError, "feature names"):
            c.predict(frame[["b", "a"]])

    # Checks of scikit-learn that fail, with the reason.
    EXCEPTIONS = {
        "check_classifiers_classes": "wants both classes predicted after training on 30 rows, which ε = 1 hides",
    }

    # None fails for the regressor.
    REGRESSOR_EXCEPTIONS: dict = {}

    def test_estimator_checks(self) -> None:
        self.check(Found(bounds=(-10, 10), random_state=1), self.EXCEPTIONS)
        self.check(PrivateRegressor(bounds=(-10, 10), target_bounds=(-100, 100), random_state=1), self.REGRESSOR_EXCEPTIONS)

    def check(self, of, exceptions) -> None:
        from sklearn.utils.estimator_checks import check_estimator

        failed = {}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for estimator, check in check_estimator(of, generate_only=True):
                name = check.func.__name__
                try:
                    check(estimator)
                except unittest.SkipTest:
                    pass
                except Exception as error:
                    failed[name] = error
        self.assertEqual(failed.keys(), exceptions.keys(), failed)


if __name__ == "__main__":
    unittest.main()
