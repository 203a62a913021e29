# SPDX-License-Identifier: Apache-2.0
"""What `dvnet evaluate` prints for people: its tables, and the words that the JSON's numbers are there. The page of --html has
the JSON, so that one run gives both."""
import json
import os
import re
import subprocess
import tempfile

NAME_WIDTH = 24


def report_of(page):
    """The report on a page, as --json would print it."""
    with open(page, encoding="utf-8") as file:
        report = json.loads(re.search(r'id="data">(.*?)</script>', file.read(), re.DOTALL).group(1))
    for network in report["networks"]:
        network.get("detection", {}).pop("worst", None)
    return report


def evaluated(*command, env=None):
    """What a command prints, and its report."""
    with tempfile.TemporaryDirectory() as folder:
        page = os.path.join(folder, "page.html")
        text = subprocess.check_output([*command, "--html", page], env={**os.environ, **(env or {})}, text=True)
        return text, report_of(page)


def table(text, *head):
    """The rows below the line that ends with these heads, up to a line of another form: a name and its words."""
    lines = iter(text.splitlines())
    wanted = " ".join(head).split()
    if not any(line.split()[-len(wanted):] == wanted for line in lines):
        raise AssertionError(f"no table with {wanted} in:\n{text}")
    rows = []
    for line in lines:
        name, words = line[:NAME_WIDTH].rstrip(), line[NAME_WIDTH:].split()
        if not words or not all(word[0].isdigit() or word[0] == "-" for word in words):
            break
        rows.append((name, words))
    return rows


def share(value, digits=3):
    """A share as it is printed; one that is not known is a dash."""
    return "-" if value is None else f"{value:.{digits}f}"


def interval(ends):
    return f"{ends[0]:.3f}..{ends[1]:.3f}"
