"""The program behind the package: where it is, how it is run, and how it is asked."""
from __future__ import annotations

import atexit
import json
import math
import os
import subprocess
import threading
from typing import Any, Dict, List, Mapping, Optional, Sequence


class Error(Exception):
    """The program could not do what was asked. The text is its message, with all problems."""

    def __init__(self, text: str, remedies: Sequence[Mapping[str, Any]] = ()) -> None:
        super().__init__(text)
        self.remedies = list(remedies)  #: changes of a question, each of which alone gives an answer


class Wrong(Error, ValueError):
    """The request is wrong: a field is outside its range, missing or unknown."""


class NotCovered(Error):
    """No accountant has a proof for what was asked."""


class Infeasible(Error):
    """No setting meets the budget."""


_KINDS = {"wrong": Wrong, "not-covered": NotCovered, "infeasible": Infeasible}


def program() -> str:
    """The path of the program: $PROACTIVEDP_PROGRAM, or the one inside the package."""
    name = "proactivedp.exe" if os.name == "nt" else "proactivedp"
    path = os.environ.get("PROACTIVEDP_PROGRAM") or os.path.join(os.path.dirname(__file__), "bin", name)
    if not os.path.isfile(path):
        raise Error(f"{path} does not exist: install a wheel, which contains the program, or build the program "
                    "and set PROACTIVEDP_PROGRAM to its path")
    return path


def _environment(progress: str) -> Dict[str, str]:
    """The environment of the program, with its way to show progress, whatever the user's is."""
    return {**os.environ, "PROACTIVEDP_PROGRESS": progress}


def _messages(stderr: str) -> str:
    """The messages among the lines of stderr, which are JSON events, without the progress."""
    texts = []
    for line in stderr.splitlines():
        event = json.loads(line) if line.startswith('{"event":') else {"event": "message", "text": line}
        text = event.get("text", "")
        if event["event"] == "message" and not text.startswith("See proactivedp"):
            texts.append(text.replace("proactivedp: ", ""))
    return "\n".join(texts).strip()


def run(*arguments: str, cwd: Optional[str] = None) -> str:
    """Runs a command in a folder and returns what it prints to stdout."""
    done = subprocess.run([os.path.abspath(program()), *arguments], cwd=cwd, stdin=subprocess.DEVNULL,
                          capture_output=True, encoding="utf-8", env=_environment("json"))
    if done.returncode:
        refused = json.loads(done.stdout).get("refused") if done.stdout.startswith("{") else None
        if refused:
            raise Infeasible(refused)
        text = _messages(done.stderr) or f"the program ended with status {done.returncode}"
        raise (Wrong if done.returncode == 2 else Error)(text)
    return done.stdout


def flags(**values: Any) -> List[str]:
    """The values that are given as flags. A flag is named like its value, with hyphens."""
    return [f"--{name.replace('_', '-')}={plain(name, value)}" for name, value in values.items() if value is not None]


def plain(name: str, value: Any) -> Any:
    """A value as JSON has it. The error for a number that is not finite names it."""
    if hasattr(value, "item"):  # a scalar of NumPy
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        raise Wrong(f"{name} = {value}, must be finite")
    return value


def given(**values: Any) -> Dict[str, Any]:
    """The values that are given, as JSON has them."""
    return {name: plain(name, value) for name, value in values.items() if value is not None}


class Process:
    """A `proactivedp ask`, which answers one question after the other. It starts with the first one."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._child: Optional[subprocess.Popen[bytes]] = None

    def ask(self, kind: str, question: Mapping[str, Any]) -> Any:
        line = json.dumps({kind: question}, allow_nan=False).encode() + b"\n"
        with self._lock:
            child = self._child
            if child is None:
                # In a session of its own, Ctrl-C interrupts the question, and not the process in the middle of it.
                child = self._child = subprocess.Popen([program(), "ask"], stdin=subprocess.PIPE,
                                                       stdout=subprocess.PIPE, start_new_session=True,
                                                       env=_environment(""))
            assert child.stdin and child.stdout
            answered = b""
            try:
                child.stdin.write(line)
                child.stdin.flush()
                answered = child.stdout.readline()
            except (BrokenPipeError, ConnectionResetError):
                pass  # it has ended
            finally:  # The next question must not get the answer of one that was interrupted.
                if not answered.endswith(b"\n"):
                    self._end(kill=True)
        if not answered.endswith(b"\n"):
            raise Error("the program ended without an answer; the next question starts it again")
        answer = json.loads(answered)
        if "error" in answer:
            error = answer["error"]
            raise _KINDS.get(error["kind"], Error)("\n".join(error["problems"]), error.get("remedies", ()))
        return answer[kind]

    def close(self) -> None:
        """Ends the process. The next question starts another one."""
        with self._lock:
            self._end()

    def _end(self, kill: bool = False) -> None:
        child, self._child = self._child, None
        if child is None:
            return
        if kill:
            child.kill()
        try:
            child.communicate(timeout=5)  # closes its stdin, at whose end it ends
        except subprocess.TimeoutExpired:
            child.kill()
            child.communicate()

    def forget(self) -> None:
        """Leaves the process to the parent of a process that was forked."""
        self.__init__()  # type: ignore[misc]


process = Process()
atexit.register(process.close)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=process.forget)
