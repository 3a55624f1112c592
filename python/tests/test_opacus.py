"""proactivedp.opacus with stand-ins that have the names of Opacus 1.5.4, and with Opacus itself if it is installed."""
import dataclasses
import importlib.util
import random
import sys
import types
import unittest
import warnings
from unittest import mock

import proactivedp
from proactivedp import Wrong, opacus


class Generator:
    """PyTorch's generator: not seeded, each has the same seed."""

    def __init__(self, device="cpu"):
        self.device, self.is_seed = device, 67280421310721

    def manual_seed(self, seed):
        self.is_seed = seed
        return self

    def seed(self):
        return self.manual_seed(random.getrandbits(64)).is_seed

    def initial_seed(self):
        return self.is_seed


class UniformWithReplacementSampler:
    __module__ = "opacus.utils.uniform_sampler"

    def __init__(self, num_samples, sample_rate, generator):
        self.num_samples, self.sample_rate, self.generator = num_samples, sample_rate, generator


class DPDataLoader:
    def __init__(self, dataset, *, sample_rate, generator=None, num_workers=0):
        self.dataset = dataset
        self.batch_sampler = UniformWithReplacementSampler(len(dataset), sample_rate, generator)


def method(self):
    """A method of Opacus' optimizer."""


method.__module__ = "opacus.optimizers.optimizer"


class DPOptimizer:
    __module__ = "opacus.optimizers.optimizer"
    loss_reduction, step_hook = "mean", None
    pre_step = clip_and_accumulate = add_noise = scale_grad = _get_flat_grad_sample = method

    def __init__(self, optimizer, **constants):
        self.__dict__.update(constants)

    def attach_step_hook(self, hook):
        self.step_hook = hook

    def step(self):
        self.step_hook(self)


class AdaClipDPOptimizer(DPOptimizer):
    __module__ = "opacus.optimizers.adaclipoptimizer"


class DPOptimizerFastGradientClipping(DPOptimizer):
    __module__ = "opacus.optimizers.optimizer_fast_gradient_clipping"


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


@dataclasses.dataclass(frozen=True)
class Device:
    type: str
    index: int = 0


def parameters(*devices):
    """What an optimizer of PyTorch has of parameters on these devices."""
    return types.SimpleNamespace(param_groups=[{"params": [types.SimpleNamespace(device=device) for device in devices]}])


def torch():
    return mock.MagicMock(Generator=Generator, **{
        "initial_seed.return_value": 2**40, "optim.SGD.return_value": parameters(Device("cpu"))})


def modules():
    """Modules with the names that make_private imports."""
    package = types.ModuleType("opacus")
    package.GradSampleModule = mock.MagicMock()
    return {
        "torch": torch(), "opacus": package,
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
                self.plan, engine, module=object(), optimizer=parameters(Device("cpu")), dataset=range(2000), max_grad_norm=1.0)
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

    def test_noise_and_samples_have_generators_of_their_own(self) -> None:
        generators = self.optimizer.generator, self.loader.batch_sampler.generator
        self.assertEqual(generators[0].device.type, "cpu")
        self.assertFalse(any(opacus._chosen(g.initial_seed()) for g in generators))
        self.assertNotEqual(*(g.initial_seed() for g in generators))
        for part, name in (self.optimizer, "optimizer"), (self.loader.batch_sampler, "data_loader.batch_sampler"):
            for generator in Generator(), Generator().manual_seed(1):
                with mock.patch.object(part, "generator", generator):
                    self.refused(f"{name}.generator has the seed {generator.is_seed}, which was not drawn at random")
                    self.refused(f"{name}.generator has the seed", finished=True)
            with mock.patch.object(part, "generator", None), mock.patch.dict(sys.modules, torch=torch()):
                self.verify()
                sys.modules["torch"].initial_seed.return_value = 7  # torch.manual_seed(7)
                self.refused(f"{name}.generator has the seed 7")
        with mock.patch.dict(sys.modules, modules()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            _, optimizer, _ = opacus.make_private(self.plan, self.engine, module=object(), dataset=range(2000),
                                                  optimizer=parameters(Device("cuda"), Device("cuda", 1)), max_grad_norm=1.0)
            self.assertIsNone(optimizer.generator)  # two devices
            sys.modules["torch"].seed.assert_called_once()

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
            (self.optimizer, "step_hook", None, "step_hook is missing: the engine would record no step"),
            (self.optimizer, "step_hook", lambda optimizer: None, "step_hook does not belong to engine.accountant"),
            (self.optimizer, "step_hook", Accountant().get_optimizer_hook_fn(0.05), "does not belong to engine.accountant"),
            (self.optimizer, "max_grad_norm", 2.0, "max_grad_norm = 2.0, must be 1.0, as given to make_private"),
            (self.optimizer, "max_grad_norm", float("inf"), "max_grad_norm = inf, must be a positive number"),
            (self.optimizer, "clip_and_accumulate", lambda: None, "clip_and_accumulate is replaced"),
            (DPOptimizer, "clip_and_accumulate", lambda self: None, "clip_and_accumulate is replaced"),
            (self.optimizer, "add_noise", lambda: None, "add_noise is replaced"),
            (DPOptimizer, "__module__", "mine", "optimizer = DPOptimizer, must be"),
            (UniformWithReplacementSampler, "__module__", "mine", "must be the UniformWithReplacementSampler of Opacus"),
            (sampler, "sample_rate", 0.05, "sample_rate = 0.05"),
            (sampler, "num_samples", 10, "num_samples = 10, must be 2000"),
            (self.loader, "batch_sampler", object(), "= object, must be the UniformWithReplacementSampler"),
        ]:
            with self.subTest(name=name), mock.patch.object(part, name, value):
                self.refused(text)
        self.refused("AdaClipDPOptimizer, must be DPOptimizer", optimizer=AdaClipDPOptimizer(None))
        self.refused("optimizer = object", optimizer=object())
        fast = DPOptimizerFastGradientClipping(None, **vars(self.optimizer))
        self.refused("module.max_grad_norm = None, must be 1.0: the module clips", optimizer=fast)
        self.refused("module.max_grad_norm = 3, must be 1.0", optimizer=fast, module=types.SimpleNamespace(max_grad_norm=3))
        self.verify(optimizer=fast, module=types.SimpleNamespace(max_grad_norm=1.0))

    def test_a_plan_for_persons_says_whose_ε_it_is(self) -> None:
        self.plan = proactivedp.plan(n=2000, batch_size=100, steps=60, target_epsilon=2, delta=1e-5, group=3)
        self.made(Engine())
        with self.assertWarnsRegex(UserWarning, "for a person with up to 3 records, and the library's ε is for one"):
            opacus.verify(self.plan, self.engine, optimizer=self.optimizer, data_loader=self.loader)

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

    def setUp(self) -> None:
        import torch

        quiet = warnings.catch_warnings()
        quiet.__enter__()
        self.addCleanup(quiet.__exit__, None, None, None)
        warnings.simplefilter("ignore")
        self.plan = proactivedp.plan(n=500, batch_size=50, steps=20, target_epsilon=2, delta=1e-5)
        torch.manual_seed(1)
        inputs = torch.randn(500, 8)
        self.rows = torch.utils.data.TensorDataset(inputs, (inputs.sum(dim=1) > 0).long())

    def parts(self, secure_mode=False):
        import torch
        from opacus import PrivacyEngine

        torch.manual_seed(1)  # the same weights each time
        model, engine = torch.nn.Linear(8, 2), PrivacyEngine(accountant="rdp", secure_mode=secure_mode)
        return model, torch.optim.SGD(model.parameters(), lr=0.5), engine

    def train(self, engine, module, optimizer, loader):
        import torch

        taken = 0
        while taken < self.plan.steps:
            for batch, labels in loader:
                optimizer.zero_grad()
                torch.nn.functional.cross_entropy(module(batch), labels).backward()
                optimizer.step()
                taken += 1
                if taken == self.plan.steps:
                    break
        opacus.verify(self.plan, engine, optimizer=optimizer, data_loader=loader, finished=True)
        self.assertGreaterEqual(engine.get_epsilon(1e-5), self.plan.epsilon_lower)
        return [p.detach().flatten().tolist() for p in module.parameters()]

    def made(self, **options):
        module, sgd, engine = self.parts(**options)
        return (engine, *opacus.make_private(self.plan, engine, module=module, optimizer=sgd, dataset=self.rows,
                                             max_grad_norm=1.0))

    def refused(self, text, engine, optimizer, loader) -> None:
        with self.assertRaises(Wrong) as raised:
            opacus.verify(self.plan, engine, optimizer=optimizer, data_loader=loader)
        self.assertIn(text, str(raised.exception))

    def test_steps_are_those_of_the_plan(self) -> None:
        import torch

        trained = []
        for _ in range(2):
            made = self.made()
            torch.manual_seed(2)  # reaches neither noise nor samples
            trained.append(self.train(*made))
        self.assertNotEqual(*trained)

    def test_secure_mode(self) -> None:
        """PyTorch's generator stands in for torchcsprng."""
        import torch

        drawn = []

        def device(path):
            drawn.append(torch.Generator().manual_seed(len(drawn)))
            return drawn[-1]
        with mock.patch.dict(sys.modules, torchcsprng=types.SimpleNamespace(create_random_device_generator=device)):
            made = self.made(secure_mode=True)
            before = drawn[0].get_state()
            self.train(*made)
        self.assertIs(made[2].generator, drawn[0])
        self.assertIs(made[3].batch_sampler.generator, drawn[0])
        self.assertFalse(torch.equal(drawn[0].get_state(), before))
        made[2].generator = torch.Generator()
        self.refused("optimizer.generator is not engine.secure_rng", made[0], *made[2:])

    def test_what_opacus_itself_makes(self) -> None:
        """It takes the rate from the data set; a loader that shuffles is no Poisson sampling; and it draws from PyTorch's
        generator, which may have a chosen seed."""
        import torch

        for poisson, text in (True, "sample_rate = 0.1, must be 0.09999996"), (False, "must be the UniformWithReplacementSampler"):
            module, sgd, engine = self.parts()
            module, optimizer, loader = engine.make_private(
                module=module, optimizer=sgd, data_loader=torch.utils.data.DataLoader(self.rows, batch_size=50),
                noise_multiplier=self.plan.noise_multiplier, max_grad_norm=1.0, poisson_sampling=poisson)
            self.refused(text, engine, optimizer, loader)
            self.refused("optimizer.generator has the seed 1,", engine, optimizer, loader)

    def test_what_is_changed_is_refused(self) -> None:
        engine, _, optimizer, loader = self.made()
        for name, value in ("clip_and_accumulate", lambda: None), ("max_grad_norm", 2.0), ("step_hook", lambda _: None):
            with mock.patch.object(optimizer, name, value):
                self.refused(f"optimizer.{name} ", engine, optimizer, loader)
        opacus.verify(self.plan, engine, optimizer=optimizer, data_loader=loader)


if __name__ == "__main__":
    unittest.main()
