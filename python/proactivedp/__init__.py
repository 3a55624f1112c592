"""ProactiveDP from Python: plan private training, account for it, train and audit.

>>> import proactivedp
>>> proactivedp.plan(n=50_000, epochs=20, target_epsilon=3, delta=1e-5).noise_multiplier
1.497007

The answers come from the program proactivedp inside the package. One process answers plan, account
and calibrate until close() is called or Python ends.
"""
from typing import TYPE_CHECKING, Any

from ._planning import (Account, Audit, Calibration, Plan, Proposal, Steps, account, audit_scores, calibrate, plan,
                        propose)
from ._program import Error, Infeasible, NotCovered, Wrong, process, program

close = process.close
for _error in (Error, Wrong, NotCovered, Infeasible):
    _error.__module__ = __name__  # as whoever catches them names them

if TYPE_CHECKING:
    from .sklearn import PrivateClassifier, PrivateRegressor

__all__ = ["Account", "Audit", "Calibration", "Error", "Infeasible", "NotCovered", "Plan", "PrivateClassifier",
           "PrivateRegressor", "Proposal", "Steps", "Wrong", "account", "audit_scores", "calibrate", "close", "plan",
           "program", "propose"]


def __getattr__(name: str) -> Any:  # scikit-learn takes a second to import, so only who needs it waits
    if name in ("PrivateClassifier", "PrivateRegressor"):
        from . import sklearn
        return getattr(sklearn, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
