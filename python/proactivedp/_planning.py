"""Questions about privacy, and their answers as dataclasses."""
from __future__ import annotations

import json
import os
import warnings
from dataclasses import dataclass, field
from typing import Any, Dict, List, Mapping, Optional, Sequence, Union

from ._program import Infeasible, Wrong, flags, given, listed, number, plain, process, run, understood


def _aside() -> Any:
    """A field that does not show in the text of its dataclass."""
    return field(repr=False, compare=False)


@dataclass(frozen=True)
class Steps:
    """Steps of DP-SGD that an accountant counts. Their sample rate is sample_rate, or batch_size of n records."""

    noise_multiplier: float
    steps: int
    sample_rate: Optional[float] = None
    batch_size: Optional[int] = None
    n: Optional[int] = None
    sampling: Optional[str] = None  #: "poisson" if not given, or "fixed", "shuffle" or "allocation"
    adjacency: Optional[str] = None  #: the usual one of the sampling if not given
    redraw: Optional[str] = None  #: of "shuffle" and "allocation": "epoch" or "once"
    group: Optional[int] = None  #: records of one person

    def _events(self) -> List[Dict[str, Any]]:
        return [given(noise_multiplier=self.noise_multiplier, count=self.steps, sample_rate=self.sample_rate,
                      sample_size=self.batch_size, dataset_size=self.n, sampling=self.sampling,
                      adjacency=self.adjacency, redraw=self.redraw, group=self.group)]


@dataclass(frozen=True)
class Plan:
    """A training that keeps a budget. ε is that of a record, or of a person if group was given, for all steps."""

    n: int
    epochs: float
    batch_size: int
    steps: int
    noise_multiplier: float
    sample_rate: float
    epsilon_lower: float
    epsilon_upper: float
    delta: float
    adjacency: str
    sampling: str
    accountant: str
    verdict: str = _aside()
    statement: str = _aside()  #: what the guarantee says, ready to be quoted
    details: Mapping[str, Any] = _aside()  #: everything that `proactivedp plan --json` prints

    @property
    def batches(self) -> Optional[int]:
        """The batches of an epoch with sampling "allocation"."""
        return self.details["run"].get("batches")  # type: ignore[no-any-return]

    def _events(self) -> List[Dict[str, Any]]:
        return self.details["releases"][0]["events"]  # type: ignore[no-any-return]


def warn_of_persons(plan: Plan) -> None:
    """Warns that a library that runs the plan counts the cost of one record, if the plan is for persons with several."""
    group = plan.details.get("group", 1)
    if group > 1:
        warnings.warn(f"the plan's ε is for a person with up to {group} records, and the library's ε is for one record", stacklevel=3)


@dataclass(frozen=True)
class Calibration:
    """The least noise multiplier, or the largest sample rate, batch size or number of steps, within a budget."""

    solved_for: str
    noise_multiplier: float
    sample_rate: float
    steps: int
    batch_size: Optional[int]
    n: Optional[int]
    epsilon_lower: float
    epsilon_upper: float
    delta: float
    adjacency: str
    sampling: str
    accountant: str
    statement: str = _aside()
    details: Mapping[str, Any] = _aside()  #: everything that `proactivedp calibrate --json` prints

    def _events(self) -> List[Dict[str, Any]]:
        rate = None if self.batch_size else self.sample_rate
        return Steps(self.noise_multiplier, self.steps, rate, self.batch_size, self.n if self.batch_size else None,
                     self.sampling, self.adjacency, self.details.get("redraw"), self.details.get("group"))._events()


@dataclass(frozen=True)
class Account:
    """What steps cost: ε at a δ, or δ at an ε, each with a lower and an upper end."""

    epsilon_lower: float
    epsilon_upper: float
    delta_lower: float
    delta_upper: float
    adjacency: str
    sampling: str
    accountant: str
    kind: str  #: "interval" and "upper" are certified; "approximation" is not
    statement: str = _aside()
    details: Mapping[str, Any] = _aside()  #: what `proactivedp account --json` prints for the accountant


@dataclass(frozen=True)
class Proposal:
    """Settings of a training, with the accuracy that trainings on other data predict for them."""

    rank: int
    predicted_accuracy: float
    predicted_low: float
    predicted_high: float
    model: str
    batch_size: int
    steps: int
    noise_multiplier: float
    max_grad_norm: float
    learning_rate: float  #: the first one, for the mean gradient of a batch
    epsilon_lower: float
    epsilon_upper: float
    delta: float
    adjacency: str
    sampling: str
    accountant: str
    details: Mapping[str, Any] = _aside()


@dataclass(frozen=True)
class Audit:
    """A lower bound on the ε of a training, by how well an attack tells its canaries apart."""

    epsilon_lower: float
    delta: float
    confidence: float
    auc: float
    canaries: int
    details: Mapping[str, Any] = _aside()  #: everything that `proactivedp audit --scores --json` prints


def plan(*, n: int, epochs: Optional[float] = None, batch_size: Optional[int] = None, steps: Optional[int] = None,
         noise_multiplier: Optional[float] = None, target_epsilon: Optional[float] = None,
         delta: Optional[float] = None, adjacency: Optional[str] = None, method: Optional[str] = None,
         clients: Optional[int] = None, shared: Optional[bool] = None, sampling: Optional[str] = None,
         batches: Optional[int] = None, redraw: Optional[str] = None, group: Optional[int] = None) -> Plan:
    """Plans a training on n records: what is not given is solved for.

    Give epochs and target_epsilon, or two of epochs, batch_size and steps with target_epsilon or
    noise_multiplier. The number of records n and the answer are not secret.

    sampling is "poisson" if not given, or "allocation": each record chooses one batch of an epoch, on its own. It
    needs redraw ("epoch" or "once") and takes batches of an epoch instead of batch_size. With group, ε is for a
    person who has up to so many records.
    """
    p = process.ask("plan", given(n=n, epochs=epochs, sample_size=batch_size, rounds=steps, sigma=noise_multiplier,
                                  epsilon=target_epsilon, delta=delta, adjacency=adjacency, method=method,
                                  clients=clients, shared=shared, sampling=sampling, batches=batches,
                                  redraw=redraw, group=group))
    with understood():
        if not p["feasible"]:
            raise Infeasible(p.get("reason") or p["verdict"])
        r, bound = p["run"], p["per_record"]
        return Plan(p["n"], p["epochs"], r["sample_size"], r["rounds"], p["sigma"], r["sample_rate"],
                    bound["epsilon_lower"], bound["epsilon_upper"], p["delta"], p["adjacency"], p["sampling"],
                    p["accountant"], p["verdict"], p["statement"], p)


def account(*runs: Union[Steps, Plan, Calibration], delta: Optional[float] = None, epsilon: Optional[float] = None,
            accountant: str = "pld") -> Account:
    """Accounts for all runs together, with noise that is independent: ε at delta, or δ at epsilon.

    The runs must not depend on one another's results.
    """
    for one in runs:
        if not isinstance(one, (Steps, Plan, Calibration)):
            raise Wrong(f"run = {one!r:.80}, must be Steps, a Plan or a Calibration: an entry (σ, rate, steps) of the history "
                        "of an Opacus accountant is Steps(σ, steps, rate)")
    events = [event for one in runs for event in one._events()]
    if plain("accountant", accountant) == "all":
        raise Wrong("accountant = 'all', must name one accountant")
    a = process.ask("account", {"events": events, **given(delta=delta, epsilon=epsilon, accountant=accountant)})

    def upper(name: str) -> float:  # an approximation proves no bound
        return float("inf") if b[name] is None else b[name]

    with understood():
        (b,) = a
        return Account(b["epsilon_lower"], upper("epsilon_upper"), b["delta_lower"], upper("delta_upper"), b["adjacency"],
                       b["sampling"], b["accountant"], b["kind"], b["statement"], b)


def calibrate(*, target_epsilon: float, delta: float, noise_multiplier: Optional[float] = None,
              sample_rate: Optional[float] = None, steps: Optional[int] = None, batch_size: Optional[int] = None,
              n: Optional[int] = None, sampling: Optional[str] = None, adjacency: Optional[str] = None,
              redraw: Optional[str] = None, group: Optional[int] = None, accountant: str = "pld") -> Calibration:
    """Solves for the one that is not given of noise_multiplier, steps and sample_rate (or batch_size of n)."""
    c = process.ask("calibrate", given(epsilon=target_epsilon, delta=delta, sigma=noise_multiplier,
                                       sample_rate=sample_rate, steps=steps, sample_size=batch_size, dataset_size=n,
                                       sampling=sampling, adjacency=adjacency, redraw=redraw, group=group,
                                       accountant=accountant))
    with understood():
        solved = {"sigma": "noise_multiplier", "sample_size": "batch_size"}.get(c["solved_for"], c["solved_for"])
        return Calibration(solved, c["sigma"], c["sample_rate"], c["steps"], c.get("sample_size"), c.get("dataset_size"),
                           c["epsilon_lower"], c["epsilon_upper"], c["delta"], c["adjacency"], c["sampling"],
                           c["accountant"], c["statement"], c)


def propose(data: str, *, target_epsilon: Optional[float] = None, target_accuracy: Optional[float] = None,
            delta: Optional[float] = None, model: Optional[str] = None, clients: Optional[int] = None,
            **options: Any) -> List[Proposal]:
    """Settings for a budget or a target accuracy, the best first. This takes seconds to minutes.

    data is the name of a public data set or the path of a file. Each of options is the flag of
    `proactivedp propose` with its name, such as seeds=3 or label_map="no,yes".
    """
    printed = run("propose", "--json", *flags(
        data=data, target_epsilon=target_epsilon, target_accuracy=target_accuracy, delta=delta, model=model,
        clients=clients, **options))
    proposals = []
    with understood():
        for p in json.loads(printed)["proposals"]:
            s, bound = p["setting"], p["certified"]["per_record"]
            size = int(s["sample_size"])
            proposals.append(Proposal(
                p["rank"], p["predicted_accuracy"], p["predicted_low"], p["predicted_high"], s["model"], size,
                p["rounds"], s["sigma"], s["clip"], s["eta0"] * size, bound["epsilon_lower"], bound["epsilon_upper"],
                p["delta"], bound["adjacency"], bound["sampling"], bound["accountant"], p))
    return proposals


def audit_scores(member: Sequence[Any], score: Sequence[float], *, delta: float, confidence: float = 0.95,
                 guesses: Optional[int] = None) -> Audit:
    """Bounds the ε of a training from below, by scores of canaries.

    member says of each canary whether it was in the training data, which a fair coin must have decided
    (secrets.randbelow(2)). score is the attack's, made without the coins; a higher one says member.
    """
    members = [plain("member", m) for m in listed("member", member)]
    scores = [number("score", s) for s in listed("score", score)]
    if len(members) != len(scores):
        raise Wrong(f"member has {len(members)} values and score has {len(scores)}, must be as many")
    for m in members:
        if m not in (0, 1):
            raise Wrong(f"member = {m!r:.80}, must be 0, 1, False or True")
    import tempfile  # only here, because it takes long, and plans do without it

    with tempfile.TemporaryDirectory(prefix="proactivedp-") as folder:
        with open(os.path.join(folder, "scores.csv"), "w", encoding="ascii") as out:
            out.write("member,score\n")
            out.writelines(f"{int(m)},{s!r}\n" for m, s in zip(members, scores))
        try:
            printed = run("audit", "--json", "--scores=scores.csv", *flags(delta=delta, confidence=confidence,
                                                                           guesses=guesses), cwd=folder, failed=Wrong)
        except Wrong as error:  # what is wrong with the file is wrong with what was given
            raise Wrong(str(error).replace("scores.csv: scores: ", "")) from None
    with understood():
        a = json.loads(printed)
        return Audit(a["epsilon_lower_bound"], a["delta"], a["confidence"], a["attack"]["auc"], a["canaries"], a)
