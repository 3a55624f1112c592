from sample import DATASET_SIZE, sample_size

NOISE_MULTIPLIER, MAX_GRAD_NORM, STEPS, DELTA = 1.0, 1.0, 1, 1e-5
# ---
import json  # noqa: E402

import torch  # noqa: E402
from opacus import PrivacyEngine  # noqa: E402
from opacus.utils.batch_memory_manager import BatchMemoryManager  # noqa: E402


def train(model, dataset, loss_of, learning_rate, at_once=None):
    """Trains the model in place, and returns the accountant's state.

    loss_of(predictions, labels) is the mean loss of a batch, as torch.nn has them. The
    state is what `proactivedp account --events` reads. at_once is how many records the
    memory holds with a gradient for each; a batch that has more is taken in parts, which
    changes no step.
    """
    torch.seed()  # from the operating system: with one seed two runs share their noise
    loader = torch.utils.data.DataLoader(dataset, batch_size=sample_size(len(dataset)))
    optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate)
    engine = PrivacyEngine(accountant="rdp")
    model, optimizer, loader = engine.make_private(
        module=model,
        optimizer=optimizer,
        data_loader=loader,
        noise_multiplier=NOISE_MULTIPLIER,
        max_grad_norm=MAX_GRAD_NORM,
        poisson_sampling=True,
    )

    def steps():
        return sum(count for _, _, count in engine.accountant.history)

    while steps() < STEPS:
        with BatchMemoryManager(
            data_loader=loader,
            max_physical_batch_size=at_once or len(dataset),
            optimizer=optimizer,
        ) as parts:
            for inputs, labels in parts:
                optimizer.zero_grad()
                loss_of(model(inputs), labels).backward()
                optimizer.step()
                if steps() == STEPS:
                    break
    return {"history": engine.accountant.history, "mechanism": "rdp"}


if __name__ == "__main__":  # a linear model of drawn data: put yours in its place
    count = DATASET_SIZE or 10_000
    features = torch.randn(count, 20)
    targets = (features.sum(dim=1) > 0).long()
    linear = torch.nn.Linear(20, 2)
    state = train(
        linear,
        torch.utils.data.TensorDataset(features, targets),
        torch.nn.functional.cross_entropy,
        learning_rate=0.5,
        at_once=4096,
    )
    print(json.dumps(state))
