"""Logistic regression by DP-SGD, for `proactivedp auto --trainer 'python3 train.py'`.

    proactivedp auto --trainer 'python3 examples/python/train.py' --n 4000 --public-n 2000 \
        --target-epsilon 1 --steps 100,300 --dir run

It needs only Python's standard library, and uses NumPy if that is installed. To use it, replace
records() with your own data: the public records of the first role must be other records than the
private ones.

The noise is drawn in floating point, which is not proof against attacks on low bits.
"""
import json
import math
import random
import sys

try:
    import numpy
except ImportError:
    numpy = None

FEATURES = 8
PUBLIC, PRIVATE, TEST = 2000, 4000, 2000


def records(role):
    """Generated records of a role, as pairs (features, label), and those that judge the model."""
    weights = random.Random(0)
    truth = [weights.gauss(0, 1) for _ in range(FEATURES)]
    draw = random.Random(role)

    def some(count):
        for _ in range(count):
            x = [draw.gauss(0, 1) for _ in truth]
            score = sum(w * v for w, v in zip(truth, x)) + draw.gauss(0, 1)
            yield x, 1 if score > 0 else 0

    held_out = list(some(TEST))
    return list(some({"public": PUBLIC, "private": PRIVATE}[role])), held_out


def sigmoid(z):
    return 0.5 * (1 + math.tanh(z / 2))  # does not overflow


def clipped_sum(w, batch, most):
    """The sum of the gradients of a batch, each clipped to the norm most."""
    if numpy is not None and batch:
        x = numpy.array([x for x, _ in batch])
        g = (0.5 * (1 + numpy.tanh(x @ numpy.array(w) / 2)) - numpy.array([y for _, y in batch]))[:, None] * x
        norms = numpy.sqrt((g * g).sum(axis=1))
        return (g * numpy.minimum(1, most / numpy.maximum(norms, 1e-30))[:, None]).sum(axis=0).tolist()
    total = [0.0] * len(w)
    for x, y in batch:
        slope = sigmoid(sum(a * b for a, b in zip(w, x))) - y
        norm = abs(slope) * math.sqrt(sum(v * v for v in x))
        scale = slope * min(1, most / max(norm, 1e-30))
        for j, v in enumerate(x):
            total[j] += scale * v
    return total


def accuracy(w, rows):
    return sum((sum(a * b for a, b in zip(w, x)) > 0) == (y == 1) for x, y in rows) / len(rows)


def main(path):
    with open(path, encoding="utf-8") as file:
        task = json.load(file)
    plan, clip = task["plan"], task["max_grad_norm"]
    if task["protocol"] != 1 or plan["sampling"] != "poisson" or plan["adjacency"] != "add-or-remove":
        sys.exit("train.py: unknown protocol, sampling or adjacency")
    rows, held_out = records(task["role"])
    if len(rows) != plan["dataset_size"]:
        sys.exit(f"train.py: {len(rows)} {task['role']} records, but the plan is for {plan['dataset_size']}")
    # A private task has no seed: then samples and noise come from the operating system.
    draw = random.SystemRandom() if task["seed"] is None else random.Random(task["seed"])
    w = [0.0] * FEATURES
    noise, rate, taken = plan["noise_multiplier"], plan["sample_rate"], 0
    while taken < plan["steps"]:
        batch = [row for row in rows if draw.random() < rate]
        total = clipped_sum(w, batch, clip)
        for j, g in enumerate(total):
            noised = g + draw.gauss(0, noise * clip)
            # Divide by the planned size, not by that of the batch, which is private.
            w[j] -= task["learning_rate"] * noised / plan["batch_size"]
        taken += 1
        if taken % 100 == 0 and task["role"] == "public":
            print(json.dumps({"curve": {"step": taken, "metric": accuracy(w, held_out)}}))
    # The rounds that were really run.
    print(json.dumps({"rounds": {"noise_multiplier": noise, "sample_rate": rate, "steps": taken}}))
    if not all(map(math.isfinite, w)):
        print(json.dumps({"metric": 0}))
        return
    print(json.dumps({"metric": accuracy(w, held_out)}))


if __name__ == "__main__":
    main(sys.argv[1])
