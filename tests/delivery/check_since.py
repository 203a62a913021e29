#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Everything in the library's description for other languages says since which version it is there.

    check_since.py FILE.gir VERSION
"""
import sys
import xml.etree.ElementTree

KINDS = ("alias", "bitfield", "callback", "class", "constant", "constructor", "enumeration", "function", "method", "record", "union")
CORE = "{http://www.gtk.org/introspection/core/1.0}"
FEWEST = 100


def numbers(version):
    return [int(number) for number in version.split(".")]


def main():
    path, version = sys.argv[1:]
    seen = [element for element in xml.etree.ElementTree.parse(path).iter() if element.tag in [CORE + kind for kind in KINDS]
            # Macros call these; nobody writes them.
            and not element.get("name").endswith("_api_get_type")]
    problems = []
    for element in seen:
        since = element.get("version")
        if not since:
            problems.append("%s %s has no 'Since:' at the end of its comment" % (element.tag[len(CORE):], element.get("name")))
        elif numbers(since) > numbers(version):
            problems.append("%s %s is there since %s, but this is %s" % (element.tag[len(CORE):], element.get("name"), since, version))
    if len(seen) < FEWEST:
        problems.append("%s describes only %d things" % (path, len(seen)))
    print("\n".join(problems) or "%d things say since when they are there" % len(seen))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
