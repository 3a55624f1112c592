from private import loader_of, private, torch

PHASES, DATASET_SIZE = ((1.0, 0.5, 1, 1),), 1
# ---
import json  # noqa: E402

from opacus.utils.batch_memory_manager import BatchMemoryManager  # noqa: E402


def train(model, dataset, loss_of, learning_rate, at_once=512):
    """Trains the model in place, and returns the accountant's state.

    loss_of(predictions, labels) is the mean loss of a batch, as torch.nn has them. The
    state is what `proactivedp account --events` reads. at_once is how many records the
    memory holds with a gradient for each; a batch that has more is taken in parts, which
    changes no step.
    """
    model, optimizer, accountant = private(model, learning_rate)

    def steps():
        return sum(count for _, _, count in accountant.history)

    end = 0
    for phase in PHASES:
        loader = loader_of(phase, dataset, optimizer, accountant)
        end += phase[-1]
        while steps() < end:
            with BatchMemoryManager(
                data_loader=loader,
                max_physical_batch_size=at_once,
                optimizer=optimizer,
            ) as parts:
                for inputs, labels in parts:
                    optimizer.zero_grad()
                    loss_of(model(inputs), labels).backward()
                    optimizer.step()
                    if steps() == end:
                        break
    return {"history": accountant.history, "mechanism": "rdp"}


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
