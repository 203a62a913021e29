# SPDX-License-Identifier: Apache-2.0
"""Reads files and JSON of others within bounds, and prints their texts without harm.

The one place where dvcamera, dvlive and dvarchive open files by a name. This file belongs beside the programs, or in
the folder above."""
import json
import math
import os
import stat
import unicodedata

# Categories of characters that end lines, move the cursor, or turn the direction of writing.
UNSEEN = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")


def printable(text, most=200):
    """Returns one line that is safe on a terminal and in a journal, of at most `most` characters."""
    text = str(text)
    shown = "".join("?" if unicodedata.category(c) in UNSEEN else c for c in text[:most])
    return shown + "..." if len(text) > most else shown


def open_regular(path):
    """Returns a descriptor of a regular file. For a named pipe or a device it fails at once and waits for nothing."""
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    if stat.S_ISREG(os.fstat(handle).st_mode):
        return handle
    os.close(handle)
    raise ValueError("it is not a regular file")


def read_text(path, most):
    """Returns the text of a regular file of at most `most` bytes. Raises OSError or ValueError."""
    with os.fdopen(open_regular(path), "rb") as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise ValueError("it has more than %d bytes" % most)
    return data.decode("utf-8-sig")


def lines_of(path, most_line):
    """Yields the lines of a regular file, as bytes. Raises OSError or ValueError."""
    with os.fdopen(open_regular(path), "rb") as file:
        while True:
            line = file.readline(most_line + 1)
            if not line:
                return
            if len(line) > most_line:
                raise ValueError("it has a line of more than %d bytes" % most_line)
            yield line


def refuse(number):
    raise ValueError("'%s' is no number of JSON" % number)


def finite(text):
    number = float(text)
    return number if math.isfinite(number) else refuse(text)


def parse_json(text):
    """Parses JSON without NaN and infinities, which browsers refuse. Raises only ValueError, for any text."""
    try:
        return json.loads(text, parse_constant=refuse, parse_float=finite)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def check_texts(value):
    """Raises ValueError if a string in a JSON value is not valid outside of Python."""
    left = [value]
    while left:
        one = left.pop()
        if isinstance(one, str):
            one.encode()  # fails for half of a pair of surrogates
            if "\0" in one:
                raise ValueError("a text has the character 0")
        elif isinstance(one, list):
            left += one
        elif isinstance(one, dict):
            left += [*one, *one.values()]


def read_json(path, most):
    """Parses a regular file of at most `most` bytes as JSON. Raises OSError or ValueError."""
    value = parse_json(read_text(path, most))
    check_texts(value)
    return value
