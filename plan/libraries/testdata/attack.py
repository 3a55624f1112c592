"""Runs exported code with stand-ins for the libraries, on data sets of several sizes.

Reads [[format, file, [records, ...]], ...] from stdin. Prints, for each of them and each
number of records, which (noise, clipping norm, divisor, sample rate, steps) it used, or the
error that it raised.
"""

import importlib.util
import json
import sys
import types


class Anything:
    """Takes every call, attribute and operation, and is true and equal to nothing."""

    def __init__(self, *args, **kwargs):
        pass

    def __call__(self, *args, **kwargs):
        return self

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __getitem__(self, at):
        return self

    def _same(self, *args):
        return self

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = _same
    __matmul__ = __enter__ = _same

    def __exit__(self, *args):
        return False

    def __iter__(self):
        return iter([self, self])


anything = Anything()
used = {}  # (noise, clipping norm, divisor, rate) -> steps


def step(noise, clip, divisor, rate):
    key = (noise, clip, divisor, rate)
    used[key] = used.get(key, 0) + 1
    return Sum(*key)


class Sum:
    """A noised sum. Its step is counted again with the number that the sum is divided by."""

    def __init__(self, noise, clip, divisor, rate):
        self.key = noise, clip, divisor, rate

    def __truediv__(self, divisor):
        used[self.key] -= 1
        if not used[self.key]:
            del used[self.key]
        noise, clip, _, rate = self.key
        return step(noise, clip, divisor, rate)


class Records:
    """A data set of so many records."""

    def __init__(self, count):
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, at):
        return anything, anything


def module(name, **members):
    m = types.ModuleType(name)
    for key, value in members.items():
        setattr(m, key, value)
    sys.modules[name] = m
    parent, _, child = name.rpartition(".")
    if parent:
        setattr(sys.modules[parent], child, m)


# What Opacus does: a loader with a sampler, an optimizer, and an engine that derives both
# rate and divisor from the loader.


class Loader:
    def __init__(self, dataset, batch_size=1, **kwargs):
        self.dataset, self.batch_size = dataset, batch_size

    def __len__(self):
        return -(-len(self.dataset) // self.batch_size)


class DPLoader:
    def __init__(self, dataset, *, sample_rate):
        self.dataset, self.sample_rate = dataset, sample_rate

    def __iter__(self):
        for _ in range(int(1 / self.sample_rate)):
            sampled.append(self.sample_rate)
            yield anything, anything


sampled = []


class DPOptimizer:
    def __init__(self, optimizer, *, noise_multiplier, max_grad_norm, expected_batch_size):
        self.noise_multiplier, self.max_grad_norm = noise_multiplier, max_grad_norm
        self.expected_batch_size, self.hook = expected_batch_size, None
        self.accumulated_iterations = 1

    def attach_step_hook(self, hook):
        self.hook = hook

    def zero_grad(self):
        pass

    def step(self):
        step(self.noise_multiplier, self.max_grad_norm, self.expected_batch_size, sampled.pop())
        if self.hook:
            self.hook(self)


class Accountant:
    def __init__(self):
        self.history = []

    def get_optimizer_hook_fn(self, sample_rate):
        def hook(optimizer):
            kind, steps = (optimizer.noise_multiplier, sample_rate), 0
            if self.history and self.history[-1][:2] == kind:
                steps = self.history.pop()[2]
            self.history.append((*kind, steps + 1))

        return hook


class Engine:
    def __init__(self, accountant="rdp"):
        self.accountant = Accountant()

    def make_private(
        self, *, module, optimizer, data_loader, noise_multiplier, max_grad_norm, poisson_sampling
    ):
        assert poisson_sampling
        rate = 1 / len(data_loader)
        optimizer = DPOptimizer(
            optimizer,
            noise_multiplier=noise_multiplier,
            max_grad_norm=max_grad_norm,
            expected_batch_size=int(len(data_loader.dataset) * rate),
        )
        optimizer.attach_step_hook(self.accountant.get_optimizer_hook_fn(rate))
        return module, optimizer, DPLoader(data_loader.dataset, sample_rate=rate)


class Parts:
    def __init__(self, *, data_loader, max_physical_batch_size, optimizer):
        self.loader = data_loader

    def __enter__(self):
        return self.loader

    def __exit__(self, *args):
        return False


# What NumPy's numbers are compared with is the rate.


class Drawn:
    def __lt__(self, rate):
        sampled.append(rate)
        return self


class SumQuery:
    def __init__(self, l2_norm_clip, stddev):
        self.clip, self.deviation = l2_norm_clip, stddev

    def __getattr__(self, name):
        return anything

    def get_noised_result(self, total, state):
        return [step(self.deviation / self.clip, self.clip, None, sampled.pop())], state, None


class Samples:
    def __init__(self, sampling_prob, iterations, partition_type):
        self.rate, self.steps = sampling_prob, iterations

    def batch_iterator(self, records, rng):
        for _ in range(self.steps):
            sampled.append(self.rate)
            yield [1, 2]


class ClippedSum(Anything):
    clip = None

    def __init__(self, loss_of, l2_clip_norm, batch_argnums):
        ClippedSum.clip, self.l2_norm_bound = l2_clip_norm, l2_clip_norm


class Leaf:
    """A gradient, which notes the noise that is added to it."""

    shape = dtype = None

    def __add__(self, noise):
        return step(noise / ClippedSum.clip, ClippedSum.clip, None, sampled.pop())


module("torch", utils=anything, optim=anything, nn=anything, seed=anything)
module("torch.utils")
module("torch.utils.data", DataLoader=Loader)
module("opacus", PrivacyEngine=Engine, GradSampleModule=Anything)
module("opacus.accountants", RDPAccountant=Accountant)
module("opacus.data_loader", DPDataLoader=DPLoader)
module("opacus.optimizers", DPOptimizer=DPOptimizer)
module("opacus.validators", ModuleValidator=anything)
module("opacus.utils")
module("opacus.utils.batch_memory_manager", BatchMemoryManager=Parts)
module("dp_accounting", GaussianDpEvent=float, SelfComposedDpEvent=lambda e, n: (*e, n), ComposedDpEvent=list)
sys.modules["dp_accounting"].PoissonSampledDpEvent = lambda rate, noise: (rate, noise)
module("tensorflow", GradientTape=Anything)
module("tensorflow_privacy", GaussianSumQuery=SumQuery)
module("numpy", uint32=None, frombuffer=anything, flatnonzero=lambda drawn: [0, 1])
sys.modules["numpy"].random = types.SimpleNamespace(
    default_rng=lambda: types.SimpleNamespace(random=lambda count: Drawn())
)
module("jax")
module("jax.numpy", asarray=anything)
sys.modules["jax"].tree = types.SimpleNamespace(
    flatten=lambda total: ([Leaf()], None), unflatten=lambda shape, leaves: leaves, map=anything
)
sys.modules["jax"].random = types.SimpleNamespace(
    wrap_key_data=anything, split=lambda *args: [anything, anything], normal=lambda *args: 1.0
)
module("jax_privacy", clipped_grad=ClippedSum)
module("jax_privacy.batch_selection", CyclicPoissonSampling=Samples, PartitionType=anything)

model = types.SimpleNamespace(trainable_variables=[], non_trainable_variables=[])


def run(code, form, records):
    used.clear()
    sampled.clear()
    if form == "opacus":
        state = code.train(anything, Records(records), anything, learning_rate=0.1)
        recorded = state["history"]
    elif form == "opacus-short":
        _, optimizer, batches = code.private(anything, anything, Records(records))
        for _ in batches:
            optimizer.step()
        recorded = None
    elif form.endswith("short"):
        given = (Records(records), Records(records))
        if form == "tf-privacy-short":
            model_of = type("Model", (Anything,), dict(vars(model)))()
            gradients = code.private_gradients(model_of, *given, anything)
        else:
            gradients = (at(anything) for at in code.private_gradients(anything, *given))
        for _ in gradients:
            pass
        recorded = None
    elif form == "flower":
        code.private_round(anything, Records(records))
        recorded = None
    elif form == "tf-privacy":
        model_of = type("Model", (Anything,), dict(vars(model)))()
        event = code.train(model_of, Records(records), Records(records), anything, step_size=0.1)
        recorded = [(noise, rate, steps) for rate, noise, steps in event]
    else:
        code.train(anything, Records(records), Records(records), anything, step_size=0.1)
        recorded = None
    return {"used": [[*key, steps] for key, steps in used.items()], "recorded": recorded}


def load(path):
    spec = importlib.util.spec_from_file_location("private", path)
    code = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(code)
    return code


sys.dont_write_bytecode = True
results = []
for form, path, sizes in json.load(sys.stdin):
    code, runs = load(path), []
    for records in sizes:
        try:
            runs.append(run(code, form, records))
        except ValueError as failure:
            runs.append({"error": str(failure)})
    results.append(runs)
print(json.dumps(results))
