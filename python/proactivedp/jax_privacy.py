"""A check that an execution plan of JAX Privacy runs what a plan accounts for."""
from __future__ import annotations

import math
from typing import Any, List

from ._planning import Plan, warn_of_persons
from ._program import Wrong


def verify(plan: Plan, execution_plan: Any) -> None:
    """Raises Wrong, with all differences, unless a DPExecutionPlan has the sampling and the noise of the plan.

    Call it before the first step. It reads batch_selection_strategy, which draws the batches, neighboring_relation,
    and dp_event, which the library makes from the noise multiplier. The noise itself is a function that it cannot look
    into: make the execution plan with a BandMFConfig of one band, so that noise and dp_event have one origin.
    """
    problems: List[str] = []

    def need(name: str, value: Any, wanted: Any, why: str = "") -> None:
        if value != wanted:
            problems.append(f"{name} = {value!r}, must be {wanted!r}{why}")

    def rate(name: str, value: Any) -> None:
        # expected_participations / iterations rounds in the last digits, which change no printed digit of ε.
        if not isinstance(value, float) or not math.isclose(value, plan.sample_rate, rel_tol=1e-12, abs_tol=0):
            problems.append(f"{name} = {value!r}, must be {plan.sample_rate!r}")

    warn_of_persons(plan)
    need("plan.sampling", plan.sampling, "poisson")
    need("plan.adjacency", plan.adjacency, "add-or-remove")
    need("clients of the plan", plan.details["clients"], 1)
    need("neighboring_relation", getattr(execution_plan.neighboring_relation, "name", None), "ADD_OR_REMOVE_ONE")
    strategy = execution_plan.batch_selection_strategy
    name = "batch_selection_strategy"
    if type(strategy).__name__ != "CyclicPoissonSampling":
        problems.append(f"{name} = {type(strategy).__name__}, must be CyclicPoissonSampling")
    else:
        rate(name + ".sampling_prob", strategy.sampling_prob)
        need(name + ".iterations", strategy.iterations, plan.steps)
        need(name + ".cycle_length", strategy.cycle_length, 1, ": one band")
        need(name + ".truncated_batch_size", strategy.truncated_batch_size, None, ", since the plan does not truncate")
        need(name + ".partition_type", getattr(strategy.partition_type, "name", None), "INDEPENDENT")
    composed = execution_plan.dp_event
    sampled = getattr(composed, "event", None)
    gaussian = getattr(sampled, "event", None)
    kinds = [type(event).__name__ for event in (composed, sampled, gaussian)]
    if kinds != ["SelfComposedDpEvent", "PoissonSampledDpEvent", "GaussianDpEvent"]:
        problems.append(f"dp_event = {' of '.join(kinds)}, must be SelfComposedDpEvent of PoissonSampledDpEvent of "
                        "GaussianDpEvent")
    else:
        need("dp_event.count", composed.count, plan.steps)
        rate("sampling_probability of dp_event", sampled.sampling_probability)
        need("noise_multiplier of dp_event", gaussian.noise_multiplier, plan.noise_multiplier)
    if problems:
        raise Wrong("\n".join(problems))
