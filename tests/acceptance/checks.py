# SPDX-License-Identifier: Apache-2.0
"""Runs the functions of a test whose names begin with check_, each in an empty folder of its own."""
import tempfile
import time


def run_checks(names, missing=lambda claim: None):
    """Runs those in a module's globals(), in their order, and prints the time since the beginning behind each. Skips a claim
    for which missing() says what is not there."""
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
