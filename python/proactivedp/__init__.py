"""ProactiveDP from Python: plan private training, account for it, train and audit.

>>> import proactivedp
>>> proactivedp.plan(n=50_000, epochs=20, target_epsilon=3, delta=1e-5).noise_multiplier
1.497014

The answers come from the program proactivedp inside the package. One process answers plan, account
and calibrate until close() is called or Python ends.
"""
TYPE_CHECKING = False  # typing, whose constant this is, takes a third of the time that an import may take
if TYPE_CHECKING:
    from ._planning import (Account, Audit, Calibration, Plan, Proposal, Steps, account, audit_scores, calibrate, plan,
                            propose)
    from ._program import Error, Infeasible, NotCovered, Wrong, close, program
    from .sklearn import PrivateClassifier, PrivateRegressor

_MODULES = {
    "_planning": ("Account", "Audit", "Calibration", "Plan", "Proposal", "Steps", "account", "audit_scores",
                  "calibrate", "plan", "propose"),
    "_program": ("Error", "Infeasible", "NotCovered", "Wrong", "close", "program"),
    "sklearn": ("PrivateClassifier", "PrivateRegressor"),
}
__all__ = sorted(name for names in _MODULES.values() for name in names)


def __getattr__(name: str) -> object:  # A module is imported when one of its names is used for the first time.
    for module, names in _MODULES.items():
        if name in names:
            from importlib import import_module
            found = globals()[name] = getattr(import_module("." + module, __name__), name)
            return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> "list[str]":
    return sorted({*globals(), *__all__})
