# SPDX-License-Identifier: Apache-2.0
"""Reads files and JSON of others within bounds, and prints their texts without harm.

The one place where dvcamera, dvlive and dvarchive open files by a name. This file belongs beside the programs, or in
the folder above."""
import errno
import json
import math
import os
import re
import stat
import tempfile
import unicodedata

# Categories of characters that end lines, move the cursor, or turn the direction of writing.
UNSEEN = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")
TOKENS = re.compile(r'"(?:[^"\\]|\\.)*"|[][{}:,]|[^\s"\][{}:,]+')  # of JSON
MOST_DIGITS = 40  # of a whole number: Python itself refuses thousands, in words of its own


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


def write_text(path, text):
    """Replaces a file as a whole: whoever reads it, also after a power cut, finds the text or the one before. Raises OSError.
    A link's target is replaced; mode and, where that is allowed, owner stay."""
    path = os.path.realpath(path)
    folder = os.path.dirname(path)
    there = os.stat(path) if os.path.exists(path) else None
    if there and not stat.S_ISREG(there.st_mode):
        raise OSError(errno.EINVAL, "it is not a regular file", path)
    handle, new = tempfile.mkstemp(prefix=".", suffix=".new", dir=folder)
    try:
        with os.fdopen(handle, "wb") as file:
            if there:
                os.fchmod(handle, stat.S_IMODE(there.st_mode))
                if (there.st_uid, there.st_gid) != (os.geteuid(), os.getegid()):
                    try:
                        os.fchown(handle, there.st_uid, there.st_gid)
                    except PermissionError:  # only the owner of all files may give one away
                        pass
            file.write(text.encode())
            file.flush()
            os.fsync(handle)
        os.replace(new, path)
    except BaseException:
        os.unlink(new)
        raise
    within = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(within)
    finally:
        os.close(within)


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


class Wrong(ValueError):
    """What is wrong at a place in JSON: names of fields and indices in lists."""

    def __init__(self, text, place):
        super().__init__(text)
        self.place = place


def check_texts(value):
    """Raises ValueError if a string in a JSON value is not valid outside of Python."""
    left = [((), value)]
    while left:
        place, one = left.pop()
        if isinstance(one, str):
            if "\0" in one:
                raise Wrong("a text has the character 0", place)
            if any("\ud800" <= c <= "\udfff" for c in one):
                raise Wrong("a text has half of a pair of surrogates", place)
        elif isinstance(one, list):
            left += [((*place, i), item) for i, item in enumerate(one)]
        elif isinstance(one, dict):
            left += [((*place, name), name) for name in one] + [((*place, name), item) for name, item in one.items()]


def places(text):
    """Yields the place of each value in JSON, and where in the text it begins, or its name; in their order. A name that
    stands twice has two."""
    place, named = [], False
    for match in TOKENS.finditer(text):
        token = match.group()
        if token in "]}":
            place.pop()
            named = False
        elif token == ",":
            named = isinstance(place[-1], str)
            if not named:
                place[-1] += 1
        elif named:
            place[-1] = json.loads(token)
            named = False
            yield tuple(place), match.start()
        elif token != ":":
            if not place or isinstance(place[-1], int):
                yield tuple(place), match.start()
            if token in "[{":
                place.append(0 if token == "[" else "")
                named = token == "{"


def spot_at(text, at):
    """Returns line and column of a character, from 1."""
    return text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)


def spot_of(text, place, within=None):
    """Returns line and column of the last value at a place that there is of these names and indices; `within`: of the
    first time that the value has this text, if it has."""
    every = list(places(text))
    found = dict(every)
    while place and tuple(place) not in found:
        place = place[:-1]
    at = found[tuple(place)]
    if within:
        end = min((start for _, start in every if start > at), default=len(text))
        at = max(at, text.find(json.dumps(within)[1:-1], at, end))
    return spot_at(text, at)


def refuse_what_stands_twice(text):
    seen = set()
    for place, at in places(text):
        if place in seen:
            raise ValueError("line %d, column %d: '%s' stands twice in one object" % (*spot_at(text, at), printable(place[-1])))
        seen.add(place)


def whole(text):
    if len(text) > MOST_DIGITS:
        raise ValueError("a number has %d digits" % len(text))
    return int(text)


def parse_settings(text):
    """Parses JSON that people write. A ValueError says at which line it is. A name that stands twice in an object is one:
    one of its values would not count."""
    twice = []

    def once(pairs):
        value = dict(pairs)
        twice.extend([True] * (len(value) < len(pairs)))
        return value

    def literal(read):
        def read_it(number):
            try:
                return read(number)
            except ValueError as error:
                at = next((m.start() for m in TOKENS.finditer(text) if m.group().startswith(number)), 0)
                raise ValueError("line %d, column %d: %s" % (*spot_at(text, at), error)) from error
        return read_it

    try:
        value = json.loads(text, parse_constant=literal(refuse), parse_float=literal(finite), parse_int=literal(whole),
                           object_pairs_hook=once)
    except json.JSONDecodeError as error:
        raise ValueError("line %d, column %d: it is not JSON: %s" % (error.lineno, error.colno, error.msg)) from error
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    if twice:
        refuse_what_stands_twice(text)
    try:
        check_texts(value)
    except Wrong as wrong:
        raise ValueError("line %d, column %d: %s" % (*spot_of(text, wrong.place), wrong)) from wrong
    return value


def read_settings(path, most):
    """Returns the text of a regular file of at most `most` bytes, and its JSON, as parse_settings() does."""
    try:
        text = read_text(path, most)
    except UnicodeDecodeError as error:
        line, column = error.object.count(b"\n", 0, error.start) + 1, error.start - error.object.rfind(b"\n", 0, error.start)
        raise ValueError("line %d, column %d: it is no UTF-8 text" % (line, column)) from error
    return text, parse_settings(text)


def read_json(path, most):
    """Parses a regular file of at most `most` bytes as parse_settings() does. Raises OSError or ValueError."""
    return read_settings(path, most)[1]
