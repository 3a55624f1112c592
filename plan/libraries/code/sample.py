# Constants of the plan, as an editor sees them; what is written has those of the plan.
SAMPLE_SIZE, DATASET_SIZE, SAMPLE_RATE = 1, 2, 0.5
# ---


def sample_size(records):
    """Returns how many of the records a round samples on average."""
    if DATASET_SIZE is not None:
        if records != DATASET_SIZE:
            raise ValueError(f"{records} records, the plan is for {DATASET_SIZE}")
        return SAMPLE_SIZE
    size = int(SAMPLE_RATE * records)
    if size < 1:
        raise ValueError(f"{records} records at rate {SAMPLE_RATE}: not one in a sample")
    return size
