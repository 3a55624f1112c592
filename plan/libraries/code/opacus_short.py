# Constants of the plan, as an editor sees them; what is written has those of the plan.
NOISE_MULTIPLIER, MAX_GRAD_NORM, SAMPLE_RATE, EXPECTED_BATCH_SIZE, STEPS = 1.0, 1.0, 0.5, 1, 1
# ---
from itertools import chain, islice, repeat  # noqa: E402

import torch  # noqa: E402
from opacus import GradSampleModule  # noqa: E402
from opacus.data_loader import DPDataLoader  # noqa: E402
from opacus.optimizers import DPOptimizer  # noqa: E402
from opacus.validators import ModuleValidator  # noqa: E402


def private(model, optimizer, dataset):
    """Returns your model and your optimizer for private steps, and the batches of all STEPS.

    Put these lines before your loop, which then has one step for each batch:

        model, optimizer, batches = private(model, optimizer, dataset)
        for inputs, labels in batches:
            optimizer.zero_grad()
            loss_of(model(inputs), labels).backward()  # the mean loss of the batch
            optimizer.step()
    """
    torch.seed()  # from the operating system: with one seed two runs share their noise
    ModuleValidator.validate(model, strict=True)
    optimizer = DPOptimizer(
        optimizer,
        noise_multiplier=NOISE_MULTIPLIER,
        max_grad_norm=MAX_GRAD_NORM,
        expected_batch_size=EXPECTED_BATCH_SIZE,
    )
    model = GradSampleModule(model)
    model.forbid_grad_accumulation()
    loader = DPDataLoader(dataset, sample_rate=SAMPLE_RATE)
    return model, optimizer, islice(chain.from_iterable(repeat(loader)), STEPS)
