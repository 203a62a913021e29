# SPDX-License-Identifier: Apache-2.0
"""Runs a program whose output is a terminal."""
import os
import pty
import subprocess


def on_terminal(command, only_stderr=False, env=None):
    """Returns its exit status, and the bytes of its output."""
    ours, theirs = pty.openpty()
    stdout = subprocess.DEVNULL if only_stderr else theirs
    done = subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, stdout=stdout, stderr=theirs)
    os.close(theirs)
    said = b""
    while True:
        try:
            part = os.read(ours, 4096)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        said += part
    os.close(ours)
    return done.wait(), said
