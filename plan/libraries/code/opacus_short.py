# Constants of the plan, as an editor sees them; what is written has those of the plan.
PHASES, MAX_GRAD_NORM = ((1.0, 0.5, 1, 1),), 1.0
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

    Take each step before the next batch, which may set other noise for its step.
    """
    torch.seed()  # from the operating system: with one seed two runs share their noise
    ModuleValidator.validate(model, strict=True)
    noise_multiplier, _, expected_batch_size, _ = PHASES[0]
    optimizer = DPOptimizer(
        optimizer,
        noise_multiplier=noise_multiplier,
        max_grad_norm=MAX_GRAD_NORM,
        expected_batch_size=expected_batch_size,
    )
    model = GradSampleModule(model)
    model.forbid_grad_accumulation()

    def batches():
        for noise_multiplier, sample_rate, expected_batch_size, steps in PHASES:
            optimizer.noise_multiplier = noise_multiplier
            optimizer.expected_batch_size = expected_batch_size
            loader = DPDataLoader(dataset, sample_rate=sample_rate)
            yield from islice(chain.from_iterable(repeat(loader)), steps)

    return model, optimizer, batches()
