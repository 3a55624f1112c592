# Constants of the plan, as an editor sees them; what is written has those of the plan.
NOISE_MULTIPLIER, MAX_GRAD_NORM, SAMPLE_RATE, EXPECTED_BATCH_SIZE = 1.0, 1.0, 0.5, 1
# ---
import torch  # noqa: E402
from opacus import GradSampleModule  # noqa: E402
from opacus.accountants import RDPAccountant  # noqa: E402
from opacus.data_loader import DPDataLoader  # noqa: E402
from opacus.optimizers import DPOptimizer  # noqa: E402
from opacus.validators import ModuleValidator  # noqa: E402


def private(model, dataset, learning_rate):
    """Returns model, optimizer and loader for private steps, and the accountant of the steps.

    PrivacyEngine.make_private is not called: it computes the sample rate and the expected
    batch size from the data set, so that one more record changes both. Here they are
    constants.
    """
    torch.seed()  # from the operating system: with one seed two runs share their noise
    ModuleValidator.validate(model, strict=True)
    optimizer = DPOptimizer(
        torch.optim.SGD(model.parameters(), lr=learning_rate),
        noise_multiplier=NOISE_MULTIPLIER,
        max_grad_norm=MAX_GRAD_NORM,
        expected_batch_size=EXPECTED_BATCH_SIZE,
    )
    accountant = RDPAccountant()
    optimizer.attach_step_hook(accountant.get_optimizer_hook_fn(sample_rate=SAMPLE_RATE))
    model = GradSampleModule(model)
    model.forbid_grad_accumulation()
    return model, optimizer, DPDataLoader(dataset, sample_rate=SAMPLE_RATE), accountant
