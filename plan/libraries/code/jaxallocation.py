# Constants of the plan, as an editor sees them; what is written has those of the plan.
BATCHES, REDRAW, PHASES = 1, "epoch", ((1.0, None, 1, 1),)
# ---
import secrets  # noqa: E402

from jax_privacy import batch_selection  # noqa: E402


def rounds(count):
    """Yields the noise multiplier, the expected batch size and the records of each round.

    Each record chooses one of the BATCHES rounds of an epoch, on its own. A round may have no
    record.
    """
    noise_multiplier, _, expected_batch_size, steps = PHASES[0]
    draw = BATCHES if REDRAW == "epoch" else steps  # rounds of one draw
    for begin in range(0, steps, draw):
        samples = batch_selection.BallsInBinsSampling(
            iterations=min(draw, steps - begin), cycle_length=BATCHES
        )
        for chosen in samples.batch_iterator(count, rng=secrets.randbits(63)):
            yield noise_multiplier, expected_batch_size, chosen


