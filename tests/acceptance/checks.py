# SPDX-License-Identifier: Apache-2.0
"""Runs the functions of a test whose names begin with check_, and makes documents that nobody writes, for pages that must
survive them."""
import tempfile
import time


def run_checks(names, missing=lambda claim: None):
    """Runs those in a module's globals() whose names begin with check_, in their order, each in an empty folder of its own,
    and prints the time since the beginning behind each. Skips a claim for which missing() says what is not there."""
    began = time.monotonic()
    for name, check in list(names.items()):
        if not name.startswith("check_"):
            continue
        claim = name.removeprefix("check_").removeprefix("that_").replace("_", " ")
        what = missing(claim)
        if what:
            print("skipped, as there is no %s: %s" % (what, claim))
            continue
        with tempfile.TemporaryDirectory() as folder:
            check(folder)
        print("%6.1f s  %s" % (time.monotonic() - began, claim))


def mutated(chance, value):
    """Returns the value with some members of other types and sizes."""
    if chance.random() < 0.07:
        return chance.choice([None, True, -1, 0, 1e300, 2 ** 53, "", "x" * 300, [], {}, [[]], [None], {"toString": 1},
                              {"length": 1e9}, [1e308, -1e308, 0, 1e-300], "__proto__", "\u202e<b>", ["a"] * 50])
    if isinstance(value, dict):
        return {("__proto__" if chance.random() < 0.01 else name): mutated(chance, part) for name, part in value.items()
                if chance.random() > 0.02}
    if isinstance(value, list):
        return [mutated(chance, part) for part in value for _ in range(chance.choice((1, 1, 1, 0, 3)))]
    return value
