"""Steps of Opacus with the constants of a plan, and a check that they are what was accounted for.

PrivacyEngine.make_private computes the sample rate and the expected batch size from the data set, so that one more
record changes both (Opacus' issues 571 and 819). Here they are the constants of the plan.
"""
from __future__ import annotations

import math
import warnings
from typing import Any, List, Tuple

from ._planning import Plan
from ._program import Wrong


def make_private(plan: Plan, engine: Any, *, module: Any, optimizer: Any, dataset: Any, max_grad_norm: float,
                 **loading: Any) -> Tuple[Any, Any, Any]:
    """Returns the module, the optimizer and the data loader of private steps, and verifies them.

    engine is a PrivacyEngine of Opacus, which records the steps, and may have secure_mode. dataset is not a
    loader: Poisson samples are drawn from it. Each of loading is an argument of torch's DataLoader, such as
    num_workers. Iterate over the loader until engine.accountant has recorded plan.steps steps.
    """
    if "generator" in loading:
        raise Wrong("generator must not be given: samples are drawn from the generator of the engine, or from a new seed")
    import torch
    from opacus import GradSampleModule
    from opacus.data_loader import DPDataLoader
    from opacus.optimizers import DPOptimizer
    from opacus.validators import ModuleValidator

    ModuleValidator.validate(module, strict=True)
    if engine.secure_mode:
        loading["generator"] = engine.secure_rng
    else:
        torch.seed()  # from the operating system: with one seed two runs share their noise
    module = GradSampleModule(module)
    module.forbid_grad_accumulation()
    rate = _rate(plan)
    private = DPOptimizer(optimizer, noise_multiplier=plan.noise_multiplier, max_grad_norm=max_grad_norm,
                          expected_batch_size=plan.batch_size, secure_mode=engine.secure_mode,
                          generator=engine.secure_rng if engine.secure_mode else None)
    private.attach_step_hook(engine.accountant.get_optimizer_hook_fn(sample_rate=rate))
    loader = DPDataLoader(dataset, sample_rate=rate, **loading)
    verify(plan, engine, optimizer=private, data_loader=loader)
    return module, private, loader


def verify(plan: Plan, engine: Any, *, optimizer: Any, data_loader: Any, finished: bool = False) -> None:
    """Raises Wrong, with all differences, unless what will run, and what has run, is what the plan accounts for.

    Call it before the first step, and with finished=True after the last one. Then the recorded steps must be
    exactly those of the plan.
    """
    problems: List[str] = []

    def need(name: str, value: Any, wanted: Any, why: str = "") -> None:
        if value != wanted:
            problems.append(f"{name} = {value!r}, must be {wanted!r}{why}")

    rate = _rate(plan)
    kind = type(optimizer).__name__
    if kind not in ("DPOptimizer", "DPOptimizerFastGradientClipping"):
        problems.append(f"optimizer = {kind}, must be DPOptimizer or DPOptimizerFastGradientClipping: others clip or "
                        "share the noise in another way")
    else:
        need("optimizer.noise_multiplier", optimizer.noise_multiplier, plan.noise_multiplier)
        if optimizer.loss_reduction == "mean":
            need("optimizer.expected_batch_size", optimizer.expected_batch_size, plan.batch_size,
                 ", the constant that the sum is divided by")
        need("optimizer.secure_mode", optimizer.secure_mode, engine.secure_mode, ", that of the engine")
        if optimizer.step_hook is None:
            problems.append("optimizer.step_hook is missing: the engine would record no step")
    sampler: Any = getattr(data_loader, "batch_sampler", None)
    need("data_loader.batch_sampler", type(sampler).__name__, "UniformWithReplacementSampler",
         ", which draws Poisson samples")
    if type(sampler).__name__ == "UniformWithReplacementSampler":
        need("data_loader.batch_sampler.sample_rate", sampler.sample_rate, rate)
        need("data_loader.batch_sampler.num_samples", sampler.num_samples, len(data_loader.dataset),
             ", all records of the data set")
    if engine.secure_mode:
        for name, part in ("optimizer", optimizer), ("data_loader.batch_sampler", sampler):
            if getattr(part, "generator", None) is not engine.secure_rng:
                problems.append(f"{name}.generator is not engine.secure_rng, which secure_mode needs")
    elif not finished:
        warnings.warn("the noise is from PyTorch's generator, which is not cryptographic: PrivacyEngine(secure_mode=True) "
                      "has one for a release", stacklevel=2)
    taken = 0
    for noise, of, steps in engine.accountant.history:
        need("noise multiplier of recorded steps", noise, plan.noise_multiplier)
        need("sample rate of recorded steps", of, rate)
        taken += steps
    if taken > plan.steps or finished and taken < plan.steps:
        problems.append(f"{taken} steps are recorded, must be {'' if finished else 'at most '}{plan.steps}")
    if problems:
        raise Wrong("\n".join(problems))


def _rate(plan: Plan) -> float:
    """The sample rate, rounded down to a multiple of 2^-24: Opacus compares it with random numbers of 24 bits."""
    if plan.sampling != "poisson" or plan.details["clients"] != 1:
        raise Wrong(f"plan with sampling = {plan.sampling!r} and {plan.details['clients']} clients, must have Poisson "
                    "sampling and one client")
    rate = math.floor(plan.sample_rate * 2**24) / 2**24
    if rate == 0:
        raise Wrong(f"sample_rate = {plan.sample_rate}, must be at least 2^-24 for the random numbers of PyTorch")
    return rate
