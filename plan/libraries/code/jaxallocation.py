# Constants of the plan, as an editor sees them; what is written has those of the plan.
BATCHES, REDRAW, STEPS = 1, "epoch", 1
# ---
import secrets  # noqa: E402

from jax_privacy import batch_selection  # noqa: E402


def batches(count):
    """Yields the records of each round, drawn from count records.

    Each record chooses one of the BATCHES rounds of an epoch, on its own. A round may have no
    record.
    """
    draw = BATCHES if REDRAW == "epoch" else STEPS  # rounds of one draw
    for begin in range(0, STEPS, draw):
        samples = batch_selection.BallsInBinsSampling(
            iterations=min(draw, STEPS - begin), cycle_length=BATCHES
        )
        yield from samples.batch_iterator(count, rng=secrets.randbits(63))


