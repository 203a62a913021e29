# SPDX-License-Identifier: Apache-2.0
"""quiet() silences imports: Debian's packages of ONNX and of ONNX Runtime register the same
operators, and print that in a hundred lines, not from Python."""
import contextlib
import ctypes
import os


@contextlib.contextmanager
def quiet():
    kept = [os.dup(1), os.dup(2)]
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(nowhere, stream)
    try:
        yield
    finally:
        ctypes.CDLL(None).fflush(None)
        for stream, own in zip((1, 2), kept):
            os.dup2(own, stream)
            os.close(own)
        os.close(nowhere)
