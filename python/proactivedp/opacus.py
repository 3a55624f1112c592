"""Steps of Opacus with the constants of a plan, and a check that they are what was accounted for.

PrivacyEngine.make_private computes the sample rate and the expected batch size from the data set, so that one more
record changes both (Opacus' issues 571 and 819). Here they are the constants of the plan.
"""
from __future__ import annotations

import math
import warnings
from typing import Any, List, Tuple

from ._planning import Plan, warn_of_persons
from ._program import Wrong


def make_private(plan: Plan, engine: Any, *, module: Any, optimizer: Any, dataset: Any, max_grad_norm: float,
                 **loading: Any) -> Tuple[Any, Any, Any]:
    """Returns the module, the optimizer and the data loader of private steps, and verifies them.

    engine is a PrivacyEngine of Opacus, which records the steps, and may have secure_mode. dataset is not a
    loader: Poisson samples are drawn from it. Each of loading is an argument of torch's DataLoader, such as
    num_workers. Move the module to its device before. Without secure_mode, noise and samples are drawn from generators
    that torch.manual_seed does not reach. Iterate over the loader until engine.accountant has recorded plan.steps steps.
    """
    if "generator" in loading:
        raise Wrong("generator must not be given: samples are drawn from the generator of the engine, or from a new seed")
    import torch
    from opacus import GradSampleModule
    from opacus.data_loader import DPDataLoader
    from opacus.optimizers import DPOptimizer
    from opacus.validators import ModuleValidator

    ModuleValidator.validate(module, strict=True)
    noise: Any = None
    if engine.secure_mode:
        noise = loading["generator"] = engine.secure_rng
    else:
        loading["generator"] = _unseeded(torch.Generator())
        devices = {p.device for group in optimizer.param_groups for p in group["params"]}
        if len(devices) == 1 and next(iter(devices)).type in ("cpu", "cuda"):
            noise = _unseeded(torch.Generator(devices.pop()))
        else:  # no generator has several devices
            torch.seed()
    module = GradSampleModule(module)
    module.forbid_grad_accumulation()
    rate = _rate(plan)
    private = DPOptimizer(optimizer, noise_multiplier=plan.noise_multiplier, max_grad_norm=max_grad_norm,
                          expected_batch_size=plan.batch_size, secure_mode=engine.secure_mode,
                          generator=noise)
    private.planned_max_grad_norm = max_grad_norm  # for verify
    private.attach_step_hook(engine.accountant.get_optimizer_hook_fn(sample_rate=rate))
    loader = DPDataLoader(dataset, sample_rate=rate, **loading)
    verify(plan, engine, optimizer=private, data_loader=loader)
    return module, private, loader


# The methods of an optimizer that decide what a step reveals.
_METHODS = ("pre_step", "clip_and_accumulate", "add_noise", "scale_grad", "_get_flat_grad_sample")


def verify(plan: Plan, engine: Any, *, optimizer: Any, data_loader: Any, module: Any = None,
           finished: bool = False) -> None:
    """Raises Wrong, with all differences, unless what will run, and what has run, is what the plan accounts for.

    Call it before the first step, and with finished=True after the last one. Then the recorded steps must be
    exactly those of the plan. module is only needed for DPOptimizerFastGradientClipping, where the module clips. What
    a program changes between the two calls and changes back is not seen, and neither is a change of Opacus' own code.
    """
    problems: List[str] = []

    def need(name: str, value: Any, wanted: Any, why: str = "") -> None:
        if value != wanted:
            problems.append(f"{name} = {value!r}, must be {wanted!r}{why}")

    rate = _rate(plan)
    kind = type(optimizer).__name__
    if not _of_opacus(type(optimizer)) or kind not in ("DPOptimizer", "DPOptimizerFastGradientClipping"):
        problems.append(f"optimizer = {kind}, must be DPOptimizer or DPOptimizerFastGradientClipping of Opacus: others clip "
                        "or share the noise in another way")
    else:
        need("optimizer.noise_multiplier", optimizer.noise_multiplier, plan.noise_multiplier)
        if optimizer.loss_reduction == "mean":
            need("optimizer.expected_batch_size", optimizer.expected_batch_size, plan.batch_size,
                 ", the constant that the sum is divided by")
        norm = optimizer.max_grad_norm
        need("optimizer.max_grad_norm", norm, getattr(optimizer, "planned_max_grad_norm", norm), ", as given to make_private")
        if not 0 < norm < math.inf:
            problems.append(f"optimizer.max_grad_norm = {norm!r}, must be a positive number")
        if kind == "DPOptimizerFastGradientClipping":
            need("module.max_grad_norm", getattr(module, "max_grad_norm", None), norm,
                 ": the module clips, so verify needs it")
        for name in _METHODS:
            if name in vars(optimizer) or not _of_opacus(getattr(optimizer, name, None)):
                problems.append(f"optimizer.{name} is replaced, must be the method of Opacus")
        need("optimizer.secure_mode", optimizer.secure_mode, engine.secure_mode, ", that of the engine")
        if optimizer.step_hook is None:
            problems.append("optimizer.step_hook is missing: the engine would record no step")
        elif not any(cell.cell_contents is engine.accountant for cell in
                     getattr(optimizer.step_hook, "__closure__", None) or ()):
            problems.append("optimizer.step_hook does not belong to engine.accountant: the engine would record no step")
    sampler: Any = getattr(data_loader, "batch_sampler", None)
    if not _of_opacus(type(sampler)) or type(sampler).__name__ != "UniformWithReplacementSampler":
        problems.append(f"data_loader.batch_sampler = {type(sampler).__name__}, must be the UniformWithReplacementSampler "
                        "of Opacus, which draws Poisson samples")
    else:
        need("data_loader.batch_sampler.sample_rate", sampler.sample_rate, rate)
        need("data_loader.batch_sampler.num_samples", sampler.num_samples, len(data_loader.dataset),
             ", all records of the data set")
    if engine.secure_mode:
        for name, part in ("optimizer", optimizer), ("data_loader.batch_sampler", sampler):
            if getattr(part, "generator", None) is not engine.secure_rng:
                problems.append(f"{name}.generator is not engine.secure_rng, which secure_mode needs")
    else:
        for name, part in ("optimizer", optimizer), ("data_loader.batch_sampler", sampler):
            seed = _seed_of(part)
            if seed is not None and _chosen(seed):
                problems.append(f"{name}.generator has the seed {seed}, which was not drawn at random, so that others could "
                                "compute the noise or the samples: call torch.seed() after torch.manual_seed()")
    if not finished:
        warn_of_persons(plan)
    if not engine.secure_mode and not finished:
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


def _of_opacus(what: Any) -> bool:
    return str(getattr(what, "__module__", "")).split(".")[0] == "opacus"


def _chosen(seed: int) -> bool:
    """Whether a seed is not from the operating system. torch.Generator() has the second one, if it is not seeded."""
    return seed < 2**32 or seed == 67280421310721


def _unseeded(generator: Any) -> Any:
    """The generator of PyTorch with a seed from the operating system."""
    while _chosen(generator.seed()):
        pass
    return generator


def _seed_of(part: Any) -> Any:
    """The seed from which an optimizer or a sampler draws, or None for an object that does not draw."""
    if not hasattr(part, "generator"):
        return None
    if part.generator is None:
        import torch
        return torch.initial_seed()
    return part.generator.initial_seed()


def _rate(plan: Plan) -> float:
    """The sample rate, rounded down to a multiple of 2^-24: Opacus compares it with random numbers of 24 bits."""
    if plan.sampling != "poisson" or plan.details["clients"] != 1:
        raise Wrong(f"plan with sampling = {plan.sampling!r} and {plan.details['clients']} clients, must have Poisson "
                    "sampling and one client")
    rate = math.floor(plan.sample_rate * 2**24) / 2**24
    if rate == 0:
        raise Wrong(f"sample_rate = {plan.sample_rate}, must be at least 2^-24 for the random numbers of PyTorch")
    return rate
