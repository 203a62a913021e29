#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Looks up the files, tests and functions that pages name in backticks and links: they must exist.

    places.py SOURCE_FOLDER
"""
import os
import re
import sys

SOURCE = os.path.abspath(sys.argv[1])
# Folders of the repository that a path begins with.
ROOTS = ("src/", "tests/", "gst/", "include/", "docs/", "scripts/", "pipelines/", "debian/", ".ci/")
# Files that builds and runs make are not in the repository.
MADE = ("build", "out/", "gst/dvnn/", "gst/video/", "gst/analytics/")


def pages():
    names = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"]
    for folder in ("docs", "docs/log"):
        names += sorted(folder + "/" + name for name in os.listdir(os.path.join(SOURCE, folder)) if name.endswith(".md"))
    return names


def exists(name):
    """A path of the repository, exactly or without its ending: `src/tensor/layout` is a pair of files."""
    path = os.path.join(SOURCE, name)
    if os.path.exists(path):
        return True
    folder, stem = os.path.split(path)
    return os.path.isdir(folder) and any(entry.startswith(stem + ".") for entry in os.listdir(folder))


def check_paths(page, text):
    for name in re.findall(r"`([\w./-]+)`", text):
        placeholder = re.search(r"[A-Z]{3,}", os.path.splitext(name)[0]) and not name.endswith(".md")
        if name.startswith(ROOTS) and not name.startswith(MADE) and not placeholder and not exists(name):
            yield "%s names '%s', which is not there" % (page, name)
    for target in re.findall(r"\]\(([^)\s#]+)[^)\s]*\)", text):
        if "://" not in target and not os.path.exists(os.path.join(SOURCE, os.path.dirname(page), target)):
            yield "%s links to '%s', which is not there" % (page, target)


def check_anchors(page, text):
    for target, anchor in re.findall(r"\]\(([^)\s#]*)#([^)\s]+)\)", text):
        path = os.path.join(SOURCE, os.path.dirname(page), target) if target else os.path.join(SOURCE, page)
        if "://" in target or not path.endswith(".md") or not os.path.exists(path):
            continue
        heads = re.findall(r"^#+ (.*)", open(path, encoding="utf-8").read(), re.MULTILINE)
        if anchor not in {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}:
            yield "%s links to '%s#%s', a heading that is not there" % (page, target, anchor)


def check_contents(page, text):
    """`name` in `path`, and `name()` in `path`, as CONTRIBUTING.md writes it: that file must contain the name."""
    for name, path in re.findall(r"`(\w+)(?:\(\))?`[\w ]* in `([\w./-]+)`", text):
        full = os.path.join(SOURCE, path)
        if path.startswith(ROOTS) and os.path.isfile(full) and name not in open(full, encoding="utf-8").read():
            yield "%s says that `%s` is in %s, which has no such name" % (page, name, path)


def passes(source):
    """Yields the rows of a table of passes: name and what it does."""
    text = open(os.path.join(SOURCE, source), encoding="utf-8").read()
    for name, parts in re.findall(r'\{"(\w+)",\s*((?:"(?:[^"\\]|\\.)*"\s*)+),\s*run_pass<', text):
        yield name, "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', parts)).replace('\\"', '"')


def check_passes():
    """The page about the converter lists the passes like the tables, in their order and words."""
    page = "docs/converter.md"
    text = " ".join(open(os.path.join(SOURCE, page), encoding="utf-8").read().split())
    rows = [row for part in ("unsized", "sized") for row in passes("src/plan/passes/%s.cpp" % part)]
    if len(rows) < 15:
        yield "the tables of passes are not read: %d rows" % len(rows)
    if " ".join("- `%s`: %s." % row for row in rows) not in text:
        missing = [name for name, does in rows if "- `%s`: %s." % (name, does) not in text]
        yield "%s does not list the passes as their tables do: %s" % (page, ", ".join(missing) or "in another order")


def check_index():
    """The index names every page once."""
    text = open(os.path.join(SOURCE, "docs/README.md"), encoding="utf-8").read()
    for name in sorted(os.listdir(os.path.join(SOURCE, "docs"))):
        if name.endswith(".md") and name != "README.md" and text.count("](%s)" % name) != 1:
            yield "docs/README.md names '%s' %d times, not once" % (name, text.count("](%s)" % name))


def main():
    failures = list(check_passes()) + list(check_index())
    for page in pages():
        text = open(os.path.join(SOURCE, page), encoding="utf-8").read()
        for check in (check_paths, check_anchors, check_contents):
            failures += check(page, text)
    for failure in failures:
        print("FAILED", failure)
    print("%d failures" % len(failures))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
