# Constants of the plan, as an editor sees them; what is written has those of the plan.
SAMPLE_RATE, STEPS = 0.5, 1
# ---
import secrets  # noqa: E402

from jax_privacy import batch_selection  # noqa: E402


def batches(count):
    """Yields the records of each round, drawn from count records."""
    samples = batch_selection.CyclicPoissonSampling(
        sampling_prob=SAMPLE_RATE,
        iterations=STEPS,
        partition_type=batch_selection.PartitionType.INDEPENDENT,
    )
    return samples.batch_iterator(count, rng=secrets.randbits(63))


