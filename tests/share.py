# SPDX-License-Identifier: Apache-2.0
"""The share of a long test that this build does: dvnn_rounds() and dvnn_seed() of check_suite.h, for Python."""
import os


def share_of(items):
    """One in DVNN_TEST_ROUNDS, where another run of CI does all, or in DVNN_TEST_BRIEFLY, where the build is
    slow; each run of CI others, by its DVNN_TEST_SEED."""
    every = int(os.environ.get('DVNN_TEST_ROUNDS') or os.environ.get('DVNN_TEST_BRIEFLY') or '1')
    return list(items)[int(os.environ.get('DVNN_TEST_SEED', '0')) % every::every]
