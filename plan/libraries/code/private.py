# Constants of the plan, as an editor sees them; what is written has those of the plan.
PHASES, MAX_GRAD_NORM = ((1.0, 0.5, 1, 1),), 1.0
# ---
import torch  # noqa: E402
from opacus import GradSampleModule  # noqa: E402
from opacus.accountants import RDPAccountant  # noqa: E402
from opacus.data_loader import DPDataLoader  # noqa: E402
from opacus.optimizers import DPOptimizer  # noqa: E402
from opacus.validators import ModuleValidator  # noqa: E402


def private(model, learning_rate):
    """Returns model and optimizer for private steps, and the accountant of the steps.

    PrivacyEngine.make_private is not called: it computes the sample rate and the expected
    batch size from the data set, so that one more record changes both. Here they are
    constants.
    """
    torch.seed()  # from the operating system: with one seed two runs share their noise
    ModuleValidator.validate(model, strict=True)
    noise_multiplier, _, expected_batch_size, _ = PHASES[0]
    optimizer = DPOptimizer(
        torch.optim.SGD(model.parameters(), lr=learning_rate),
        noise_multiplier=noise_multiplier,
        max_grad_norm=MAX_GRAD_NORM,
        expected_batch_size=expected_batch_size,
    )
    model = GradSampleModule(model)
    model.forbid_grad_accumulation()
    return model, optimizer, RDPAccountant()


def loader_of(phase, dataset, optimizer, accountant):
    """Returns the loader of a phase, and gives the phase's noise and divisor to the optimizer."""
    noise_multiplier, sample_rate, expected_batch_size, _ = phase
    optimizer.noise_multiplier = noise_multiplier
    optimizer.expected_batch_size = expected_batch_size
    optimizer.attach_step_hook(accountant.get_optimizer_hook_fn(sample_rate=sample_rate))
    return DPDataLoader(dataset, sample_rate=sample_rate)
