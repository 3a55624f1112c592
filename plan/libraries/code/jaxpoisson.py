# Constants of the plan, as an editor sees them; what is written has those of the plan.
PHASES = ((1.0, 0.5, 1, 1),)
# ---
import secrets  # noqa: E402

from jax_privacy import batch_selection  # noqa: E402


def rounds(count):
    """Yields the noise multiplier, the expected batch size and the records of each round.

    The records are drawn from count records.
    """
    for noise_multiplier, sample_rate, expected_batch_size, steps in PHASES:
        samples = batch_selection.CyclicPoissonSampling(
            sampling_prob=sample_rate,
            iterations=steps,
            partition_type=batch_selection.PartitionType.INDEPENDENT,
        )
        for chosen in samples.batch_iterator(count, rng=secrets.randbits(63)):
            yield noise_multiplier, expected_batch_size, chosen


