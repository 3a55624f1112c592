"""proactivedp.jax_privacy with stand-ins that have the names of JAX Privacy 2.3.0.dev0 (8967688) and dp_accounting 0.6.0."""
import dataclasses
import enum
import unittest
from types import SimpleNamespace
from typing import Any, Optional

import proactivedp
from proactivedp import Wrong, jax_privacy


class NeighboringRelation(enum.Enum):
    ADD_OR_REMOVE_ONE = 1
    REPLACE_SPECIAL = 3


class PartitionType(enum.Enum):
    INDEPENDENT = 1
    EQUAL_SPLIT = 2


@dataclasses.dataclass(frozen=True)
class CyclicPoissonSampling:
    sampling_prob: float
    iterations: int
    truncated_batch_size: Optional[int] = None
    cycle_length: int = 1
    partition_type: PartitionType = PartitionType.EQUAL_SPLIT


class BallsInBinsSampling:
    pass


@dataclasses.dataclass(frozen=True)
class GaussianDpEvent:
    noise_multiplier: float


@dataclasses.dataclass(frozen=True)
class ZCDpEvent:
    rho: float


@dataclasses.dataclass(frozen=True)
class PoissonSampledDpEvent:
    sampling_probability: float
    event: Any


@dataclasses.dataclass(frozen=True)
class SelfComposedDpEvent:
    event: Any
    count: int


def made(plan, *, noise=None, steps=None, rate=None, event=None, relation=NeighboringRelation.ADD_OR_REMOVE_ONE, **strategy):
    """What BandMFConfig(...).make() has for one band."""
    steps = steps or plan.steps
    rate = rate or plan.sample_rate * plan.steps / plan.steps  # expected_participations over iterations
    event = event or GaussianDpEvent(noise or plan.noise_multiplier)
    return SimpleNamespace(
        neighboring_relation=relation,
        batch_selection_strategy=CyclicPoissonSampling(
            rate, steps, **{"partition_type": PartitionType.INDEPENDENT, **strategy}),
        dp_event=SelfComposedDpEvent(PoissonSampledDpEvent(rate, event), steps))


class Verify(unittest.TestCase):
    def setUp(self) -> None:
        self.plan = proactivedp.plan(n=2000, batch_size=100, steps=60, target_epsilon=2, delta=1e-5)

    def refused(self, *texts: str, plan=None, **changes) -> None:
        with self.assertRaises(Wrong) as raised:
            jax_privacy.verify(plan or self.plan, made(self.plan, **changes))
        for text in texts:
            self.assertIn(text, str(raised.exception))
        self.assertEqual(len(str(raised.exception).splitlines()), len(texts), raised.exception)

    def test_what_is_planned(self) -> None:
        jax_privacy.verify(self.plan, made(self.plan))

    def test_a_plan_for_persons_says_whose_ε_it_is(self) -> None:
        plan = proactivedp.plan(n=2000, batch_size=100, steps=60, target_epsilon=2, delta=1e-5, group=3)
        with self.assertWarnsRegex(UserWarning, "for a person with up to 3 records, and the library's ε is for one"):
            jax_privacy.verify(plan, made(plan))

    def test_what_is_not(self) -> None:
        self.refused("noise_multiplier of dp_event = 1.0, must be", noise=1.0)
        self.refused("iterations = 61, must be 60", "dp_event.count = 61", steps=61)
        self.refused("sampling_prob = 0.0501, must be 0.05", "sampling_probability of dp_event", rate=0.0501)
        self.refused("neighboring_relation = 'REPLACE_SPECIAL'", relation=NeighboringRelation.REPLACE_SPECIAL)
        self.refused("cycle_length = 2, must be 1", cycle_length=2)
        self.refused("truncated_batch_size = 128, must be None", truncated_batch_size=128)
        self.refused("partition_type = 'EQUAL_SPLIT'", partition_type=PartitionType.EQUAL_SPLIT)
        self.refused("SelfComposedDpEvent of PoissonSampledDpEvent of ZCDpEvent, must be", event=ZCDpEvent(0.1))

    def test_other_samplers_and_events(self) -> None:
        other = made(self.plan)
        other.batch_selection_strategy, other.dp_event = BallsInBinsSampling(), GaussianDpEvent(1.0)
        with self.assertRaisesRegex(Wrong, "= BallsInBinsSampling, must be Cyclic.*\n.*GaussianDpEvent of NoneType of NoneType"):
            jax_privacy.verify(self.plan, other)

    def test_plans_that_it_does_not_run(self) -> None:
        self.refused("plan.sampling = 'fixed'", plan=dataclasses.replace(self.plan, sampling="fixed"))
        self.refused("plan.adjacency = 'replace-one'", plan=dataclasses.replace(self.plan, adjacency="replace-one"))


if __name__ == "__main__":
    unittest.main()
