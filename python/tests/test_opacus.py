"""proactivedp.opacus with stand-ins that have the names of Opacus 1.5.4 and 1.6.0, and with Opacus itself if it is installed."""
import dataclasses
import importlib.util
import sys
import types
import unittest
import warnings
from unittest import mock

import proactivedp
from proactivedp import Wrong, opacus


class UniformWithReplacementSampler:
    def __init__(self, num_samples, sample_rate, generator):
        self.num_samples, self.sample_rate, self.generator = num_samples, sample_rate, generator


class DPDataLoader:
    def __init__(self, dataset, *, sample_rate, generator=None, num_workers=0):
        self.dataset = dataset
        self.batch_sampler = UniformWithReplacementSampler(len(dataset), sample_rate, generator)


class DPOptimizer:
    loss_reduction, step_hook = "mean", None

    def __init__(self, optimizer, **constants):
        self.__dict__.update(constants)

    def attach_step_hook(self, hook):
        self.step_hook = hook

    def step(self):
        self.step_hook(self)


class AdaClipDPOptimizer(DPOptimizer):
    pass


class Accountant:
    def __init__(self):
        self.history = []

    def get_optimizer_hook_fn(self, sample_rate):
        def hook(optimizer):
            last = self.history[-1] if self.history else None
            if last and last[:2] == (optimizer.noise_multiplier, sample_rate):
                self.history[-1] = (*last[:2], last[2] + 1)
            else:
                self.history.append((optimizer.noise_multiplier, sample_rate, 1))
        return hook


class Engine:
    def __init__(self, secure_mode=False):
        self.secure_mode, self.secure_rng, self.accountant = secure_mode, object() if secure_mode else None, Accountant()


def modules():
    """Modules with the names that make_private imports."""
    package = types.ModuleType("opacus")
    package.GradSampleModule = mock.MagicMock()
    return {
        "torch": mock.MagicMock(), "opacus": package,
        "opacus.data_loader": types.SimpleNamespace(DPDataLoader=DPDataLoader),
        "opacus.optimizers": types.SimpleNamespace(DPOptimizer=DPOptimizer),
        "opacus.validators": mock.MagicMock(),
    }


class TestOpacus(unittest.TestCase):
    def setUp(self) -> None:
        self.plan = proactivedp.plan(n=2000, batch_size=100, steps=60, target_epsilon=2, delta=1e-5)
        self.made(Engine())

    def made(self, engine) -> None:
        self.engine = engine
        with mock.patch.dict(sys.modules, modules()), warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            _, self.optimizer, self.loader = opacus.make_private(
                self.plan, engine, module=object(), optimizer=object(), dataset=range(2000), max_grad_norm=1.0)
        self.assertEqual(bool(said), not engine.secure_mode)

    def verify(self, **options) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            opacus.verify(options.pop("plan", self.plan), self.engine, **{
                "optimizer": self.optimizer, "data_loader": self.loader, **options})

    def refused(self, text: str, **options) -> None:
        with self.assertRaises(Wrong) as raised:
            self.verify(**options)
        self.assertIn(text, str(raised.exception))

    def test_constants_are_those_of_the_plan(self) -> None:
        rate = self.loader.batch_sampler.sample_rate
        self.assertEqual(rate, int(self.plan.sample_rate * 2**24) / 2**24)
        self.assertTrue(self.plan.sample_rate - 2**-24 < rate <= self.plan.sample_rate)
        self.assertEqual(self.optimizer.noise_multiplier, self.plan.noise_multiplier)
        self.assertEqual(self.optimizer.expected_batch_size, 100)
        self.assertIsNone(self.optimizer.generator)

    def test_secure_mode_reaches_noise_and_samples(self) -> None:
        self.made(Engine(secure_mode=True))
        self.assertIs(self.optimizer.generator, self.engine.secure_rng)
        self.assertIs(self.loader.batch_sampler.generator, self.engine.secure_rng)
        self.loader.batch_sampler.generator = None
        self.refused("data_loader.batch_sampler.generator is not engine.secure_rng")
        self.optimizer.secure_mode = False
        self.refused("optimizer.secure_mode = False, must be True")

    def test_what_is_recorded_is_the_plan(self) -> None:
        self.refused("0 steps are recorded, must be 60", finished=True)
        for _ in range(60):
            self.optimizer.step()
        self.verify()
        self.verify(finished=True)
        self.optimizer.step()
        self.refused("61 steps are recorded, must be at most 60")
        self.refused("61 steps are recorded, must be 60", finished=True)

    def test_other_steps_are_named(self) -> None:
        self.optimizer.noise_multiplier = 0.5
        self.optimizer.step()
        self.refused("optimizer.noise_multiplier = 0.5")
        self.optimizer.noise_multiplier = self.plan.noise_multiplier  # a scheduler took it back
        self.refused("noise multiplier of recorded steps = 0.5")

    def test_every_difference_is_named(self) -> None:
        sampler = self.loader.batch_sampler
        for part, name, value, text in [
            (self.optimizer, "expected_batch_size", 99, "expected_batch_size = 99, must be 100"),
            (self.optimizer, "step_hook", None, "would record no step"),
            (sampler, "sample_rate", 0.05, "sample_rate = 0.05"),
            (sampler, "num_samples", 10, "num_samples = 10, must be 2000"),
            (self.loader, "batch_sampler", object(), "'object', must be 'UniformWithReplacementSampler'"),
        ]:
            with self.subTest(name=name), mock.patch.object(part, name, value):
                self.refused(text)
        self.refused("AdaClipDPOptimizer, must be DPOptimizer", optimizer=AdaClipDPOptimizer(None))
        self.refused("optimizer = object", optimizer=object())

    def test_plans_that_opacus_does_not_run(self) -> None:
        self.refused("must have Poisson", plan=dataclasses.replace(self.plan, sampling="fixed"))
        self.refused("2 clients", plan=proactivedp.plan(n=2000, batch_size=100, steps=60, target_epsilon=2, delta=1e-5,
                                                       clients=2))
        with self.assertRaisesRegex(Wrong, "generator must not be given"):
            opacus.make_private(self.plan, self.engine, module=None, optimizer=None, dataset=[], max_grad_norm=1.0,
                                generator=object())
        self.refused("at least 2^-24", plan=dataclasses.replace(self.plan, sample_rate=1e-9))


@unittest.skipUnless(importlib.util.find_spec("opacus"), "opacus is not installed")
class RealOpacus(unittest.TestCase):
    """Run with the public sources of Opacus 1.4.1 and 1.5.4 on PyTorch 1.13."""

    def test_steps_are_those_of_the_plan(self) -> None:
        import torch
        from opacus import PrivacyEngine

        plan = proactivedp.plan(n=500, batch_size=50, steps=20, target_epsilon=2, delta=1e-5)
        torch.manual_seed(1)
        inputs = torch.randn(500, 8)
        rows = torch.utils.data.TensorDataset(inputs, (inputs.sum(dim=1) > 0).long())

        def parts():
            model, engine = torch.nn.Linear(8, 2), PrivacyEngine(accountant="rdp")
            return model, torch.optim.SGD(model.parameters(), lr=0.5), engine

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            module, sgd, engine = parts()
            module, optimizer, loader = opacus.make_private(
                plan, engine, module=module, optimizer=sgd, dataset=rows, max_grad_norm=1.0)
            taken = 0
            while taken < plan.steps:
                for batch, labels in loader:
                    optimizer.zero_grad()
                    torch.nn.functional.cross_entropy(module(batch), labels).backward()
                    optimizer.step()
                    taken += 1
                    if taken == plan.steps:
                        break
            opacus.verify(plan, engine, optimizer=optimizer, data_loader=loader, finished=True)
            self.assertGreaterEqual(engine.get_epsilon(1e-5), plan.epsilon_lower)
            # Opacus' own make_private takes the rate from the data set; a loader that shuffles is no Poisson sampling.
            for poisson, text in (True, "sample_rate = 0.1, must be 0.09999996"), (False, "must be 'UniformWithReplacementSampler'"):
                module, sgd, engine = parts()
                module, optimizer, loader = engine.make_private(
                    module=module, optimizer=sgd, data_loader=torch.utils.data.DataLoader(rows, batch_size=50),
                    noise_multiplier=plan.noise_multiplier, max_grad_norm=1.0, poisson_sampling=poisson)
                with self.assertRaises(Wrong) as raised:
                    opacus.verify(plan, engine, optimizer=optimizer, data_loader=loader)
                self.assertIn(text, str(raised.exception))
