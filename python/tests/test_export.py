"""The NumPy reader of docs/python.md agrees with `proactivedp predict`."""
import json
import os
import re
import struct
import tempfile
import unittest

from proactivedp import PrivateClassifier, PrivateRegressor, _program
from test_docs import PAGE

try:
    import numpy as np
except ImportError:
    np = None

try:
    import onnx
    import onnx.numpy_helper
except ImportError:
    onnx = None


@unittest.skipIf(np is None, "needs NumPy")
class TestExport(unittest.TestCase):
    def test_a_reader_agrees_with_predict(self) -> None:
        with open(PAGE, encoding="utf-8") as page:
            (reader,) = re.findall(r"^```python\n(import json.*?)^```", page.read(), re.M | re.S)
        self.assertLessEqual(len(reader.splitlines()), 20)
        names: dict = {}
        exec(reader, names)
        draw = np.random.default_rng(1)
        X = draw.normal(size=(1000, 5))
        y = (X[:, 0] > 0) + (X[:, 1] > 0)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "m")
            for model, classes in ("logreg", 2), ("logreg", 3), ("mlp:8", 3), ("mlp-relu:4:3", 2):
                with self.subTest(model=model, classes=classes):
                    c = PrivateClassifier(model=model, bounds=(-2, [2, 2, 2, 1, 3]), classes=list(range(classes)),
                                          random_state=1, epsilon=4).fit(X, np.minimum(y, classes - 1))
                    with open(path, "wb") as out:
                        out.write(c.model_)
                    for format in "npz", "safetensors", "onnx":
                        _program.run("export", path, "--format", format)
                    labels, p = names["probabilities"](path, X)
                    self.assertEqual(labels, [str(k) for k in range(classes)])
                    np.testing.assert_allclose(p, c.predict_proba(X), rtol=0, atol=2e-6)
                    self.assertTrue((p.argmax(axis=1) == c.predict(X)).all())
                    self.same(path)
                    self.checked(path + ".onnx", X, p)

            with self.subTest(model="linear"):
                r = PrivateRegressor(bounds=(-2, 2), target_bounds=(-1, 4), random_state=1, epsilon=4).fit(X, 3 * X[:, 0] + 1)
                with open(path, "wb") as out:
                    out.write(r.model_)
                for format in "npz", "safetensors", "onnx":
                    _program.run("export", path, "--format", format)
                labels, values = names["probabilities"](path, X)
                self.assertEqual(labels, [])
                np.testing.assert_allclose(values, r.predict(X), rtol=0, atol=1e-5)
                self.same(path)
                self.checked(path + ".onnx", X, values)

    def checked(self, path: str, X: "np.ndarray", want: "np.ndarray") -> None:
        """ONNX's own checker accepts the file, and its graph gives what the program predicts."""
        if onnx is None:
            self.skipTest("needs onnx (Debian: python3-onnx)")
        model = onnx.load(path)
        onnx.checker.check_model(model, full_check=True)
        one = lambda z: 1 / (1 + np.exp(-z))
        operators = {
            "Max": np.maximum, "Min": np.minimum, "Sub": np.subtract, "Mul": np.multiply, "Add": np.add, "Neg": np.negative,
            "Tanh": np.tanh, "Relu": lambda x: np.maximum(x, 0), "Sigmoid": one,
            "Concat": lambda *x: np.concatenate(x, axis=1), "Gemm": lambda x, w, b: x @ w.T + b,
            "Softmax": lambda z: np.exp(z - z.max(1, keepdims=True)) / np.exp(z - z.max(1, keepdims=True)).sum(1, keepdims=True),
        }
        values = {w.name: onnx.numpy_helper.to_array(w) for w in model.graph.initializer}
        values[model.graph.input[0].name] = X
        for node in model.graph.node:
            inputs = [values[name] for name in node.input]
            if node.op_type == "Cast":
                values[node.output[0]] = inputs[0].astype({1: np.float32, 11: np.float64}[node.attribute[0].i])
            else:
                values[node.output[0]] = operators[node.op_type](*inputs)
        got = values[model.graph.output[0].name]
        np.testing.assert_allclose(got.reshape(want.shape), want, rtol=0, atol=1e-5)

    def same(self, path: str) -> None:
        """The file of safetensors has the arrays of the .npz file: its format has the length of a header, the header as
        JSON, and the values."""
        with open(path + ".safetensors", "rb") as file:
            (size,) = struct.unpack("<Q", file.read(8))
            header, values = json.loads(file.read(size)), file.read()
        arrays = np.load(path + ".npz")
        self.assertEqual(header.keys(), set(arrays))
        for name, tensor in header.items():
            start, end = tensor["data_offsets"]
            value = np.frombuffer(values[start:end], "<f4").reshape(tensor["shape"])
            self.assertEqual(tensor["dtype"], "F32")
            np.testing.assert_array_equal(value, arrays[name])
