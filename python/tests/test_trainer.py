"""The example scripts of --trainer: one is trained by the program, the one for Opacus only with stand-ins."""
import contextlib
import io
import json
import os
import runpy
import subprocess
import sys
import tempfile
import types
import unittest
import warnings
from unittest import mock

import test_opacus

EXAMPLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "examples", "python")


class TestTrainer(unittest.TestCase):
    def test_a_script_is_planned_for_and_trains(self) -> None:
        script = os.path.join(EXAMPLES, "train.py")
        with tempfile.TemporaryDirectory() as folder:
            made = subprocess.run(
                [sys.executable, "-m", "proactivedp", "auto", "--trainer", f"{sys.executable} {script}", "--n", "4000",
                 "--public-n", "2000", "--target-epsilon", "2", "--steps", "60", "--target", "0.75", "--dir", folder,
                 "--json"], capture_output=True, text=True, timeout=600)
            self.assertEqual(made.returncode, 0, made.stderr)
            answer = json.loads(made.stdout)
            self.assertLessEqual(answer["certified"]["epsilon_upper"], 2)
            self.assertIsNone(answer["stage"]["task"]["seed"])
            self.assertIn("as reported by the script", answer["statement"])
            again = subprocess.run(
                [sys.executable, "-m", "proactivedp", "account", "--events", answer["ledger"], "--delta", "1e-5"],
                capture_output=True, text=True)
            self.assertEqual(again.returncode, 0, again.stderr)

    def test_the_script_for_opacus_runs_its_task(self) -> None:
        task = {
            "protocol": 1, "role": "public", "max_grad_norm": 1, "learning_rate": 0.5, "seed": 3, "scale": 0.25,
            "plan": {"sampling": "poisson", "adjacency": "add-or-remove", "noise_multiplier": 0.5, "batch_size": 100,
                     "dataset_size": 10_000, "sample_rate": 0.01, "steps": 7}}

        class Loader(test_opacus.DPDataLoader):
            def __iter__(self):
                return iter([(mock.MagicMock(), mock.MagicMock())] * 3)

        class Engine(test_opacus.Engine):
            def __init__(self, accountant, secure_mode):
                super().__init__(secure_mode)

        class Optimizer(test_opacus.DPOptimizer):
            def zero_grad(self):
                pass

        Optimizer.__name__, Optimizer.__module__ = "DPOptimizer", "opacus.optimizers.optimizer"
        torch = test_opacus.torch()
        torch.utils.data.Subset = lambda rows, part: part
        torch.utils.data.DataLoader = lambda rows, batch_size: []
        stand_ins = {
            **test_opacus.modules(), "torch": torch, "torchvision": mock.MagicMock(),
            "opacus.data_loader": types.SimpleNamespace(DPDataLoader=Loader),
            "opacus.optimizers": types.SimpleNamespace(DPOptimizer=Optimizer)}
        stand_ins["opacus"].PrivacyEngine = Engine
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "task.json")
            with open(path, "w", encoding="utf-8") as file:
                json.dump(task, file)
            script = os.path.join(EXAMPLES, "opacus_train.py")
            printed = io.StringIO()
            with mock.patch.dict(sys.modules, stand_ins), mock.patch.object(sys, "argv", [script, path]), \
                    contextlib.redirect_stdout(printed), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                runpy.run_path(script, run_name="__main__")
        lines = [json.loads(line) for line in printed.getvalue().splitlines()]
        rate = int(0.01 * 2**24) / 2**24  # what Opacus records
        self.assertEqual(lines, [
            {"rounds": {"noise_multiplier": 0.5, "sample_rate": rate, "steps": 7}}, {"metric": 0.0}])
