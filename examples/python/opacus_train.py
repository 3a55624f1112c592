"""A classifier trained with Opacus, for `proactivedp auto --trainer 'python3 opacus_train.py'`.

    proactivedp auto --trainer 'python3 examples/python/opacus_train.py' --n 60000 --public-n 10000 \
        --target-epsilon 3 --dir run

It needs torch, torchvision, opacus and the package proactivedp. Proxies train on EMNIST letters, which stand for public
data, and the private training uses MNIST. Replace dataset() and network() with your own.
"""
import json
import sys
from types import SimpleNamespace

import torch
from opacus import PrivacyEngine
from torchvision import datasets, transforms

from proactivedp.opacus import make_private, verify


def dataset(role, train):
    as_tensor = transforms.ToTensor()
    if role == "private":
        return datasets.MNIST("data", train=train, download=True, transform=as_tensor)
    letters = datasets.EMNIST("data", split="letters", train=train, download=True, transform=as_tensor,
                              target_transform=lambda label: label % 10)
    return torch.utils.data.Subset(letters, range(10_000 if train else 2000))


def network():
    return torch.nn.Sequential(
        torch.nn.Conv2d(1, 16, 8, 2, padding=3), torch.nn.Tanh(), torch.nn.MaxPool2d(2, 1),
        torch.nn.Conv2d(16, 32, 4, 2), torch.nn.Tanh(), torch.nn.MaxPool2d(2, 1),
        torch.nn.Flatten(), torch.nn.Linear(512, 32), torch.nn.Tanh(), torch.nn.Linear(32, 10))


def accuracy(model, rows):
    right = 0
    model.eval()
    with torch.no_grad():
        for inputs, labels in torch.utils.data.DataLoader(rows, batch_size=1000):
            right += int((model(inputs).argmax(dim=1) == labels).sum())
    return right / len(rows)


def main(path):
    with open(path, encoding="utf-8") as file:
        task = json.load(file)
    plan = SimpleNamespace(details={"clients": 1}, **task["plan"])
    rows = dataset(task["role"], train=True)
    if len(rows) != plan.dataset_size:
        sys.exit(f"{len(rows)} {task['role']} records, but the plan is for {plan.dataset_size}")
    private = task["role"] == "private"
    if not private:
        torch.manual_seed(task["seed"])  # of the initial weights
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), lr=task["learning_rate"])
    # A release needs noise and samples from a cryptographic generator: secure_mode, which needs torchcsprng.
    engine = PrivacyEngine(accountant="rdp", secure_mode=private)
    # make_private wires the constants of the plan, and draws no noise from the seed above.
    model, optimizer, loader = make_private(
        plan, engine, module=model, optimizer=optimizer, dataset=rows, max_grad_norm=task["max_grad_norm"])

    def taken():
        return sum(steps for _, _, steps in engine.accountant.history)

    while taken() < plan.steps:
        for inputs, labels in loader:
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(inputs), labels).backward()
            optimizer.step()
            if taken() == plan.steps:
                break
    # What really ran is what Opacus recorded, not what was asked for. It is reported before it is compared with the plan.
    for noise_multiplier, sample_rate, steps in engine.accountant.history:
        print(json.dumps({"rounds": {
            "noise_multiplier": noise_multiplier, "sample_rate": sample_rate, "steps": steps}}), flush=True)
    verify(plan, engine, optimizer=optimizer, data_loader=loader, finished=True)
    if private:
        torch.save(model._module.state_dict(), "private.pt")
    print(json.dumps({"metric": accuracy(model, dataset(task["role"], train=False))}))


if __name__ == "__main__":
    main(sys.argv[1])
