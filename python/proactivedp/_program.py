"""The program behind the package: where it is, how it is run, and how it is asked."""
from __future__ import annotations

import atexit
import json
import math
import os
import subprocess
import threading
from contextlib import contextmanager
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Type


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
for _error in (Error, *_KINDS.values()):
    _error.__module__ = __package__  # as whoever catches them names them


def program() -> str:
    """The path of the program: $PROACTIVEDP_PROGRAM, or the one inside the package."""
    name = "proactivedp.exe" if os.name == "nt" else "proactivedp"
    path = os.environ.get("PROACTIVEDP_PROGRAM") or os.path.join(os.path.dirname(__file__), "bin", name)
    if not os.path.isfile(path):
        raise Error(f"{path} does not exist: install a wheel, which contains the program, or build the program "
                    "and set PROACTIVEDP_PROGRAM to its path")
    return os.path.abspath(path)


@contextmanager
def running() -> Iterator[None]:
    """The error for a program that cannot be started names it."""
    try:
        yield
    except OSError as error:
        raise Error(f"{program()} cannot be run: {error.strerror}") from error


@contextmanager
def understood() -> Iterator[None]:
    """An answer that this package cannot read is an Error, which says so."""
    try:
        yield
    except Error:
        raise
    except (ValueError, LookupError, TypeError, AttributeError, FileNotFoundError) as error:
        raise Error(f"{program()} gave an answer that this package does not understand ({type(error).__name__}: {error}): "
                    "it must be the program of the same version") from error


def _environment(progress: str) -> Dict[str, str]:
    """The environment of the program, with its way to show progress, whatever the user's is."""
    return {**os.environ, "PROACTIVEDP_PROGRESS": progress}


def _failure(status: int, stderr: str, failed: Type[Error]) -> Error:
    """The error of a command that ended with a status other than 0. Lines of stderr are JSON events, or those of a
    crash."""
    others = []
    for line in stderr.split("\n"):
        try:
            event = json.loads(line)
            if event["event"] == "error":
                return {"failed": failed, **_KINDS}.get(event["kind"], Error)(event["text"])
        except (ValueError, LookupError, TypeError):
            others.append(line)
    return Error("\n".join([f"the program ended with status {status}", *others]).rstrip())


def run(*arguments: str, cwd: Optional[str] = None, failed: Type[Error] = Error) -> str:
    """Runs a command in a folder and returns what it prints to stdout.

    failed is the error if the command understood the request and could not carry it out.
    """
    with running():
        try:
            done = subprocess.run([program(), *arguments], cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True,
                                  encoding="utf-8", errors="replace", env=_environment("json"))
        except ValueError as error:  # an argument that no program can be given
            raise Wrong(str(error)) from None
    if done.returncode:
        refused = None
        if done.stdout.startswith("{"):
            with understood():
                refused = json.loads(done.stdout).get("refused")
        if refused:
            raise Infeasible(refused)
        raise _failure(done.returncode, done.stderr, failed)
    return done.stdout


def flags(**values: Any) -> List[str]:
    """The values that are given as flags. A flag is named like its value, with hyphens."""
    return [f"--{name.replace('_', '-')}={plain(name, value)}" for name, value in values.items() if value is not None]


def plain(name: str, value: Any) -> Any:
    """A value as JSON has it: a number, a string or a bool. The error for another one names it."""
    given = value
    if hasattr(value, "item"):  # a scalar of NumPy
        try:
            value = value.item()
        except (TypeError, ValueError, RuntimeError):  # of several values
            pass
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    if not isinstance(value, (bool, int, float, str)):
        raise Wrong(f"{name} = {given!r:.80}, must be a number, a string or a bool")
    if isinstance(value, int) and value.bit_length() > 1023:
        raise Wrong(f"{name} has {value.bit_length()} binary digits, must have at most 1023")
    if isinstance(value, float):
        if not math.isfinite(value):
            raise Wrong(f"{name} = {value}, must be finite")
        if value.is_integer() and abs(value) <= 2**53:  # 5e4 records
            return int(value)
    return value


def given(**values: Any) -> Dict[str, Any]:
    """The values that are given, as JSON has them."""
    return {name: plain(name, value) for name, value in values.items() if value is not None}


def number(name: str, value: Any) -> float:
    """A value as a finite number. The error for another one names it."""
    try:
        if isinstance(value, (str, bytes)):
            raise TypeError
        found = float(value)
    except (TypeError, ValueError, OverflowError):
        raise Wrong(f"{name} = {value!r:.80}, must be a number") from None
    if not math.isfinite(found):
        raise Wrong(f"{name} = {found}, must be finite")
    return found


def listed(name: str, values: Any) -> List[Any]:
    """The values of a list, an array or a series. The error for what has no order names it."""
    try:
        if isinstance(values, (str, bytes, dict, set, frozenset)):
            raise TypeError
        return list(values)
    except TypeError:
        raise Wrong(f"{name} = {values!r:.80}, must be a list of values") from None


class Process:
    """A `proactivedp ask`, which answers one question after the other. It starts with the first one."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._child: Optional[subprocess.Popen[bytes]] = None
        self._asked = False  # whether a question waits for its answer

    def ask(self, kind: str, question: Mapping[str, Any]) -> Any:
        line = json.dumps({kind: question}, allow_nan=False).encode() + b"\n"
        with self._lock:
            if self._asked:
                # A signal handler asks while this thread waits for an answer. The process would answer both questions in
                # turn, and the handler would read the first answer. So another process answers the handler.
                other = Process()
                try:
                    return other.ask(kind, question)
                finally:
                    other.close()
            if self._child is None:
                # In a session of its own, Ctrl-C interrupts the question, and not the process in the middle of it.
                # Without buffers, a process that is forked meanwhile has no part of a question or an answer.
                with running():
                    self._child = subprocess.Popen([program(), "ask"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                                   bufsize=0, start_new_session=True, env=_environment(""))
            whole = False
            try:
                self._asked = True
                answered = _exchange(self._child, line)
                if not answered.endswith(b"\n"):
                    raise Error("the program ended without an answer; the next question starts it again")
                with understood():
                    answer = json.loads(answered)
                    if "error" in answer:
                        error = answer["error"]
                        text = "\n".join(problem.removeprefix("line 1: ") for problem in error["problems"])
                        found: Any = _KINDS.get(error["kind"], Error)(text, error.get("remedies", ()))
                    else:
                        found = answer[kind]
                whole = True
            finally:  # The next question must not get the answer of one that was interrupted.
                self._asked = False
                if not whole:
                    self._end(kill=True)
        if isinstance(found, Error):
            raise found
        return found

    def close(self) -> None:
        """Ends the process. The next question starts another one."""
        with self._lock:
            if self._asked and self._child:  # a handler of a signal ends it: the question gets no answer
                self._child.kill()
            else:
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
        child = self._child
        self.__init__()  # type: ignore[misc]
        if child and child.stdin and child.stdout:
            child.stdin.close()
            child.stdout.close()
            child.returncode = 0  # the parent waits for it


def _exchange(child: subprocess.Popen[bytes], line: bytes) -> bytes:
    """Writes a question and returns its answer, or the part of it that came before the process ended."""
    assert child.stdin and child.stdout
    answered = b""
    try:
        while line:
            line = line[child.stdin.write(line) or 0:]
        while not answered.endswith(b"\n"):
            part = child.stdout.read(1 << 16)
            if not part:
                break
            answered += part
    except OSError:
        pass  # it has ended
    return answered


process = Process()
close = process.close
atexit.register(close)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=process.forget)
