"""The package against the program that its wheel contains."""
import dataclasses
import json
import multiprocessing
import os
import pickle
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from unittest import mock

import proactivedp
from proactivedp import Infeasible, NotCovered, Steps, Wrong, _program


def command(*arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([proactivedp.program(), *arguments], capture_output=True, encoding="utf-8")


def forked(question, answers) -> None:
    answers.put(question())


class TestPlanning(unittest.TestCase):
    def test_a_plan_is_that_of_the_command(self) -> None:
        plan = proactivedp.plan(n=50_000, epochs=20, target_epsilon=3, delta=1e-5)
        printed = json.loads(command("plan", "--n=50000", "--epochs=20", "--target-epsilon=3", "--delta=1e-5",
                                     "--tight=false", "--json").stdout)
        self.assertEqual(plan.noise_multiplier, printed["sigma"])
        self.assertEqual((plan.steps, plan.batch_size), (printed["run"]["rounds"], printed["run"]["sample_size"]))
        self.assertEqual(plan.epsilon_upper, printed["per_record"]["epsilon_upper"])
        self.assertEqual(plan.statement, printed["statement"])
        self.assertLessEqual(plan.epsilon_upper, 3)
        self.assertLess(plan.epsilon_lower, plan.epsilon_upper)

    def test_accounts_of_what_was_planned_and_calibrated_agree(self) -> None:
        plan = proactivedp.plan(n=10_000, batch_size=100, steps=500, target_epsilon=1, delta=1e-5)
        one = proactivedp.account(plan, delta=1e-5)
        self.assertLess(abs(one.epsilon_upper - plan.epsilon_upper), 1e-3)
        two = proactivedp.account(plan, plan, delta=1e-5)
        self.assertTrue(one.epsilon_upper < two.epsilon_lower < 2 * one.epsilon_upper)
        back = proactivedp.account(plan, epsilon=one.epsilon_upper)
        self.assertLessEqual(back.delta_lower, 1e-5)
        least = proactivedp.calibrate(target_epsilon=1, delta=1e-5, batch_size=100, n=10_000, steps=500)
        self.assertEqual(least.solved_for, "noise_multiplier")
        self.assertLess(abs(least.noise_multiplier / plan.noise_multiplier - 1), 1e-3)
        self.assertLessEqual(proactivedp.account(least, delta=1e-5, accountant="pld").epsilon_upper, 1 + 1e-3)

    def test_plans_by_allocation_and_for_persons(self) -> None:
        budget = {"n": 1000, "epochs": 2, "target_epsilon": 2, "delta": 1e-5}
        plan = proactivedp.plan(batch_size=90, sampling="allocation", redraw="epoch", **budget)
        self.assertEqual((plan.batches, plan.steps, plan.sampling), (12, 24, "allocation"))
        self.assertIn("random allocation", plan.statement)
        self.assertLess(plan.noise_multiplier, proactivedp.plan(batch_size=90, **budget).noise_multiplier)
        least = proactivedp.calibrate(target_epsilon=2, delta=1e-5, sample_rate=1 / 12, steps=24, sampling="allocation",
                                      redraw="epoch")
        self.assertEqual(plan.noise_multiplier, least.noise_multiplier)
        shared = proactivedp.plan(batches=12, sampling="allocation", redraw="once", clients=2, shared=True, **budget)
        self.assertLess(abs(proactivedp.account(shared, delta=1e-5).epsilon_upper - shared.epsilon_upper), 1e-2)
        person = proactivedp.plan(batch_size=90, group=3, **budget)
        self.assertIn("a person with up to 3 records", person.statement)
        self.assertIsNone(person.batches)
        with self.assertRaises(Wrong):
            proactivedp.plan(batch_size=90, sampling="allocation", **budget)
        with self.assertRaises(NotCovered):
            proactivedp.plan(batch_size=90, sampling="allocation", redraw="epoch", group=3, **budget)

    def test_an_approximation_proves_no_bound(self) -> None:
        account = proactivedp.account(Steps(1.1, 10_000, sample_rate=0.004), delta=1e-5, accountant="gdp")
        self.assertEqual((account.kind, account.epsilon_upper), ("approximation", float("inf")))
        account = proactivedp.account(Steps(1.1, 10_000, sample_rate=0.004), epsilon=1, accountant="gdp")
        self.assertEqual((account.kind, account.delta_upper), ("approximation", float("inf")))

    def test_errors_have_the_messages_of_the_program(self) -> None:
        for error, text, ask in [
            (Wrong, "data set size N = -1, must be in [1, 2^53 = 9007199254740992]\n"
                    "epsilon = -3, must be in [1e-08, 10000]",
             lambda: proactivedp.plan(n=-1, epochs=20, target_epsilon=-3)),
            (Wrong, "epochs = nan, must be finite", lambda: proactivedp.plan(n=10, epochs=float("nan"))),
            (Wrong, "0 events, must be from 1 to 500", lambda: proactivedp.account(delta=1e-5)),
            (Wrong, "delta = 2, must be in (0, 1)", lambda: proactivedp.account(Steps(1, 1, 0.5), delta=2)),
            (Wrong, "must name one accountant",
             lambda: proactivedp.account(Steps(1, 1, 0.5), delta=1e-5, accountant="all")),
            (NotCovered, "", lambda: proactivedp.account(Steps(1, 10, batch_size=5, n=100, sampling="fixed"),
                                                         delta=1e-5, accountant="closed-form")),
            (Infeasible, "", lambda: proactivedp.calibrate(target_epsilon=1e-3, delta=1e-12, noise_multiplier=0.5,
                                                           sample_rate=0.5)),
            (Wrong, "member has 3 values and score has 2",
             lambda: proactivedp.audit_scores([0, 1, 1], [0.5, 1], delta=1e-5)),
            (Wrong, "member = 0.9, must be 0, 1", lambda: proactivedp.audit_scores([0.9, 1], [0.5, 1], delta=1e-5)),
            (Wrong, "member = '1', must be 0, 1", lambda: proactivedp.audit_scores(["1", 0], [0.5, 1], delta=1e-5)),
            (Infeasible, "infeasible: ", lambda: proactivedp.propose("synth-phishing", target_epsilon=1e-4, delta=1e-9,
                                                                     steps=5)),
            (Wrong, "run = (1.1, 0.004, 6000), must be Steps, a Plan or a Calibration: an entry (σ, rate, steps)",
             lambda: proactivedp.account((1.1, 0.004, 6000), delta=1e-5)),
            (Wrong, "n = b'1', must be a number", lambda: proactivedp.plan(n=b"1")),
            (Wrong, "n has 16610 binary digits", lambda: proactivedp.plan(n=10**5000)),
            (Wrong, "plan.n is a JSON string, must be a number", lambda: proactivedp.plan(n="1")),
            (Wrong, "score = nan, must be finite", lambda: proactivedp.audit_scores([0, 1], [0, float("nan")], delta=1e-5)),
            (Wrong, "score = 'x', must be a number", lambda: proactivedp.audit_scores([0, 1], [0, "x"], delta=1e-5)),
            (Wrong, "member = {0}, must be a list", lambda: proactivedp.audit_scores({0}, [0], delta=1e-5)),
            (Wrong, "steps = [1], must be a number", lambda: proactivedp.propose("phishing", steps=[1])),
            (Wrong, "embedded null byte", lambda: proactivedp.propose("a\0b", target_epsilon=1)),
            (proactivedp.Error, "does not understand", lambda: proactivedp.propose("phishing", help=True)),
            (Wrong, "--frob", lambda: proactivedp.propose("phishing", frob=3)),
        ]:
            with self.subTest(text=text), self.assertRaises(error) as raised:
                ask()
            self.assertIn(text, str(raised.exception))
            self.assertEqual(type(raised.exception).__module__, "proactivedp")
        for scores, message in [
            (([], []), "canaries = 0, must be in [20, 100000]"),
            (([1] * 20, range(20)), "all 20 canaries have the same member: the audit needs canaries that were in the training "
                                    "data and canaries that were not"),
        ]:
            with self.subTest(message=message), self.assertRaises(Wrong) as raised:
                proactivedp.audit_scores(*scores, delta=1e-5)
            self.assertEqual(str(raised.exception), message)  # it does not name the file that the program read

    def test_whole_numbers_may_be_floats(self) -> None:
        self.assertEqual(proactivedp.plan(n=5e4, epochs=20, target_epsilon=3, delta=1e-5),
                         proactivedp.plan(n=50_000, epochs=20.0, target_epsilon=3.0, delta=1e-5))

    def test_answers_are_values(self) -> None:
        account = proactivedp.account(Steps(1.1, 100, sample_rate=0.01), delta=1e-5)
        self.assertEqual(pickle.loads(pickle.dumps(account)), account)
        with self.assertRaises(dataclasses.FrozenInstanceError):
            account.epsilon_upper = 0  # type: ignore[misc]

    def test_an_audit_of_scores(self) -> None:
        draw = random.Random(1)
        member = [draw.randrange(2) for _ in range(200)]
        audit = proactivedp.audit_scores(member, [9 * m + draw.gauss(0, 1) for m in member], delta=1e-5)
        self.assertGreater(audit.epsilon_lower, 2)
        self.assertEqual((audit.canaries, audit.auc, audit.confidence), (200, 1, 0.95))

    def test_module_is_the_program(self) -> None:
        asked = subprocess.run([sys.executable, "-m", "proactivedp", "plan", "--n=-1"], capture_output=True,
                               encoding="utf-8")
        self.assertEqual((asked.returncode, asked.stdout), (2, ""))
        self.assertIn("proactivedp: ", asked.stderr)


class TestProcess(unittest.TestCase):
    def ask(self) -> proactivedp.Account:
        return proactivedp.account(Steps(1.1, 100, sample_rate=0.01), delta=1e-5)

    def test_one_process_answers_all_threads(self) -> None:
        before = self.ask()
        child = _program.process._child
        found = {}
        threads = [threading.Thread(target=lambda i=i: found.update(
            {i: proactivedp.account(Steps(1 + i / 10, 100, sample_rate=0.01), delta=1e-5)})) for i in range(8)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        for i in range(8):
            self.assertEqual(found[i], proactivedp.account(Steps(1 + i / 10, 100, sample_rate=0.01), delta=1e-5))
        self.assertEqual(found[1], before)
        self.assertIs(_program.process._child, child)

    def test_close_ends_it_and_a_question_starts_it(self) -> None:
        self.ask()
        child = _program.process._child
        proactivedp.close()
        proactivedp.close()
        self.assertEqual(child.poll(), 0)
        self.ask()

    def test_a_process_that_is_killed(self) -> None:
        self.ask()
        _program.process._child.kill()
        with self.assertRaisesRegex(proactivedp.Error, "ended without an answer"):
            self.ask()
        self.ask()

    def test_a_program_that_is_another_one(self) -> None:
        """Whatever $PROACTIVEDP_PROGRAM names, an error says so, and the next question is not answered by it."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "program")
            for mode, content, text in [
                (0o600, "", "cannot be run: "),
                (0o700, "\x7fELF", "cannot be run: "),
                (0o700, "#!/bin/sh\ncat >&2 </dev/null; echo hello", "does not understand"),
                (0o700, "#!/bin/sh\nprintf '\\377\\n'", "does not understand"),
                (0o700, "#!/bin/sh\necho 3", "does not understand"),
                (0o700, "#!/bin/sh\necho '[]'", "does not understand"),
                (0o700, "#!/bin/sh\necho '{}'", "does not understand"),
                (0o700, """#!/bin/sh\necho '{"plan":{}}'""", "does not understand"),
                (0o700, """#!/bin/sh\necho '{"error":{}}'""", "does not understand"),
                (0o700, "#!/bin/sh\n[ $1 = ask ] || echo 'panic: x' >&2; exit 2", "ended with status 2\npanic: x$"),  # as Go's programs crash
            ]:
                with open(path, "w", encoding="utf-8") as out:
                    out.write(content + "\n")
                os.chmod(path, mode)
                proactivedp.close()
                for ask in (lambda: proactivedp.plan(n=50_000, epochs=20, target_epsilon=3),
                            lambda: proactivedp.audit_scores([0, 1] * 20, range(40), delta=1e-5),
                            lambda: proactivedp.propose("phishing", target_epsilon=1),
                            lambda: proactivedp.PrivateClassifier(bounds=(0, 1), classes=[0, 1]).fit([[0], [1]] * 9, [0, 1] * 9)):
                    with self.subTest(content=content), mock.patch.dict(os.environ, PROACTIVEDP_PROGRAM=path), \
                            self.assertRaisesRegex(proactivedp.Error, text + "|without an answer") as raised:
                        ask()
                    self.assertIs(type(raised.exception), proactivedp.Error)
                self.assertEqual(subprocess.run([sys.executable, "-m", "proactivedp"], capture_output=True, env={
                    **os.environ, "PROACTIVEDP_PROGRAM": path, "PYTHONPATH": os.path.dirname(os.path.dirname(
                        proactivedp.__file__))}).stderr.count(b"Traceback"), 0)
        self.ask()

    @unittest.skipUnless(hasattr(signal, "setitimer"), "no timer")
    def test_a_handler_of_a_signal_asks_while_a_question_is_answered(self) -> None:
        want, found = self.ask(), []
        before = signal.signal(signal.SIGALRM, lambda *_: found.append(self.ask()))
        self.addCleanup(signal.signal, signal.SIGALRM, before)
        plan = proactivedp.plan(n=50_000, epochs=20, target_epsilon=3, delta=1e-5)
        for microseconds in range(1, 3000, 100):
            asked = len(found)
            signal.setitimer(signal.ITIMER_REAL, microseconds / 1e6)
            while len(found) == asked:
                self.assertEqual(proactivedp.plan(n=50_000, epochs=20, target_epsilon=3, delta=1e-5), plan)
        self.assertEqual(found, [want] * 30)

        signal.signal(signal.SIGALRM, lambda *_: proactivedp.close())
        self.addCleanup(signal.setitimer, signal.ITIMER_REAL, 0)
        # Between two questions, close() only ends the process. The next question then waits for another one to start,
        # which takes longer than the timer.
        signal.setitimer(signal.ITIMER_REAL, 0.02, 0.003)
        with self.assertRaisesRegex(proactivedp.Error, "ended without an answer"):
            for epsilon in range(1000):
                proactivedp.plan(n=50_000, epochs=20, target_epsilon=1 + epsilon / 1000, delta=1e-5)
        signal.setitimer(signal.ITIMER_REAL, 0)
        self.assertEqual(self.ask(), want)

    @unittest.skipUnless(hasattr(os, "fork"), "no fork")
    def test_a_process_that_is_forked_while_other_threads_ask(self) -> None:
        """It does not hang, and neither gets an answer of the other."""
        want, ended = self.ask(), threading.Event()
        wrong: list = []

        def asking() -> None:
            while not ended.is_set():
                try:
                    if self.ask() != want:
                        wrong.append("another answer")
                except Exception as error:
                    wrong.append(error)
        threads = [threading.Thread(target=asking) for _ in range(2)]
        for t in threads:
            t.start()
        fork = multiprocessing.get_context("fork")
        answers = fork.Queue()
        others = [fork.Process(target=forked, args=(self.ask, answers)) for _ in range(5)]
        for other in others:
            other.start()
        self.assertEqual([answers.get(timeout=300) for _ in others], [want] * len(others))
        for other in others:
            other.join()
        ended.set()
        for t in threads:
            t.join()
        self.assertEqual(wrong, [])

    @unittest.skipUnless(hasattr(os, "fork"), "no fork")
    def test_a_forked_process_asks_another_one(self) -> None:
        mine = self.ask()
        child = _program.process._child
        fork = multiprocessing.get_context("fork")
        answers = fork.Queue()
        other = fork.Process(target=forked, args=(self.ask, answers))
        other.start()
        self.assertEqual(answers.get(timeout=300), mine)
        other.join()
        self.assertEqual(self.ask(), mine)
        self.assertIs(_program.process._child, child)

    @unittest.skipUnless(hasattr(signal, "setitimer"), "no timer")
    def test_an_interrupted_question_keeps_its_answer_from_the_next(self) -> None:
        def interrupt(*_: object) -> None:
            raise KeyboardInterrupt
        before = signal.signal(signal.SIGALRM, interrupt)
        self.addCleanup(signal.signal, signal.SIGALRM, before)
        self.ask()
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        with self.assertRaises(KeyboardInterrupt):
            while True:
                proactivedp.plan(n=50_000, epochs=20, target_epsilon=3, delta=1e-5)
        self.assertEqual(self.ask(), proactivedp.account(Steps(1.1, 100, sample_rate=0.01), delta=1e-5))

    def test_import_is_light(self) -> None:
        """Also if nothing is compiled yet, neither of the package nor of Python's library."""
        code = ("import sys, time; t = time.process_time(); import proactivedp; t = time.process_time() - t; "
                "assert not {'typing', 'dataclasses', 'subprocess', 'numpy', 'sklearn'} & sys.modules.keys(); print(t); "
                "proactivedp.Wrong; assert not {'numpy', 'sklearn', 'tempfile'} & sys.modules.keys(); "
                "assert set(proactivedp.__all__) <= set(dir(proactivedp)); from proactivedp import *; plan, PrivateRegressor")
        with tempfile.TemporaryDirectory() as empty:
            seconds = [float(subprocess.check_output([sys.executable, "-S", "-B", "-c", code], env={
                **os.environ, "PYTHONPYCACHEPREFIX": empty,
                "PYTHONPATH": os.path.dirname(os.path.dirname(proactivedp.__file__))})) for _ in range(3)]
        self.assertLess(min(seconds), 0.1)
        with self.assertRaises(AttributeError):
            proactivedp.plans

    def test_a_question_after_the_first_waits_little(self) -> None:
        """It starts no process, which takes 20 times as long on any machine."""
        run = Steps(1.1, 100, batch_size=100, n=10_000)

        def seconds() -> float:
            start = time.perf_counter()
            proactivedp.account(run, delta=1e-5, accountant="rdp")
            return time.perf_counter() - start
        firsts = []
        for _ in range(3):
            proactivedp.close()
            firsts.append(seconds())
        self.assertLess(min(seconds() for _ in range(20)), min(firsts) / 4)


if __name__ == "__main__":
    unittest.main()
