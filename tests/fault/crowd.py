"""Several clients at once, each a process of its own (promises.py), and what they find after each crash."""
import multiprocessing
import random
import sys

from promises import Promises, run


class Crowd:
    def __init__(self, count, port, root, seed, **options):
        context = multiprocessing.get_context("fork")
        self.members = []
        for number in range(count):
            here, there = context.Pipe()
            promises = Promises(number, port, root, seed, **options)
            process = context.Process(target=run, args=(promises, there, there), daemon=True)
            process.start()
            self.members.append((process, here))

    def go(self):
        for _, pipe in self.members:
            pipe.send("go")

    def collect(self):
        """Wait until each has checked what it was promised. -> (the sums of their counts, all that is wrong)"""
        total, wrong = {}, []
        for process, pipe in self.members:
            try:
                count, found = pipe.recv()
            except EOFError:
                count, found = {}, [f"a client died with {process.exitcode}"]
            for name, value in count.items():
                total[name] = total.get(name, 0) + value
            wrong += found
        return total, wrong

    def end(self):
        for process, pipe in self.members:
            pipe.send("end")
            process.join()


class Figures:
    """The sums over all rounds, a line for each, and the verdict."""

    def __init__(self, name):
        self.name, self.total, self.wrong, self.rounds = name, {}, [], 0

    def add(self, count, wrong, note=""):
        self.rounds += 1
        for name, value in count.items():
            self.total[name] = self.total.get(name, 0) + value
        self.wrong += [f"round {self.rounds}: {what}" for what in wrong]
        print(f"round {self.rounds}: {words(count)}{note}", flush=True)
        for what in wrong:
            print(f"round {self.rounds}: {what}", flush=True)

    def verdict(self):
        """Print it as a PASS or FAIL line. -> whether all is well"""
        good = not self.wrong and self.total.get("calls", 0) > 0
        print(f"{'PASS' if good else 'FAIL'} {self.name}: {self.rounds} rounds, {words(self.total)}"
              f"{'' if good else f', {len(self.wrong)} wrong'}", flush=True)
        return good


def words(count):
    return ", ".join(f"{value} {name}" for name, value in count.items() if value)


def choose_seed(seed):
    """Print the seed, so that the same moments can be had again."""
    seed = seed if seed is not None else random.SystemRandom().randrange(1 << 32)
    print(f"seed {seed}", flush=True)
    sys.stdout.flush()
    return seed
