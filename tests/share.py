# SPDX-License-Identifier: Apache-2.0
"""The share of a long test that this build does: dvnn_rounds() and dvnn_seed() of check_suite.h, for Python."""
import os


def share_of(items):
    """Returns one in DVNN_TEST_ROUNDS, if another run of CI does all, or one in DVNN_TEST_BRIEFLY in slow builds;
    DVNN_TEST_SEED gives each run others."""
    every = int(os.environ.get('DVNN_TEST_ROUNDS') or os.environ.get('DVNN_TEST_BRIEFLY') or '1')
    return list(items)[int(os.environ.get('DVNN_TEST_SEED', '0')) % every::every]
