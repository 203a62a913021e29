#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Compares dvnet's manual page and bash completion with each command's --help.

    check_manual.py DVNET
"""
import re
import subprocess
import sys


def said(*command):
    return subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE).stdout


def commands(dvnet):
    """Returns the commands' names, as dvnet --help lists them: two spaces, the name, then spaces."""
    for line in said(dvnet, "--help").splitlines():
        name = re.match(r"  (\S+(?: \S+)?)\s{2,}\S", line)
        if name:
            yield name.group(1)


def options(dvnet, command):
    listed = said(dvnet, *command.split(), "--help").split("Application Options:")[-1]
    return re.findall(r"^  (?:-\w, )?(--[\w-]+)", listed, re.MULTILINE)


def completed(script, *words):
    """Returns bash's completions for the last of these words."""
    quoted = " ".join(f"'{word}'" for word in words)
    program = (f"{script}\nCOMP_WORDS=({quoted}) COMP_CWORD={len(words) - 1}\n"
               "_dvnet 2>/dev/null\nprintf '%s\\n' \"${COMPREPLY[@]}\"")
    return [word for word in said("bash", "-c", program).split("\n") if word]


def main():
    dvnet = sys.argv[1]
    page = said(dvnet, "--man").replace("\\-", "-").replace("\\fB", "").replace("\\fR", "")
    sections = dict(re.findall(r'^\.SS "dvnet ((?:bench )?\w+).*?\n(.*?)(?=^\.S[SH])', page,
                               re.DOTALL | re.MULTILINE))
    script = said(dvnet, "--completion")
    failures, checked = [], 0

    def check(right, what):
        nonlocal checked
        checked += 1
        if not right:
            failures.append(what)

    check(re.fullmatch(r"dvnet \d+\.\d+\.\d+\n", said(dvnet, "--version")), "the version")
    names = list(commands(dvnet))
    check(set(names) == set(sections), f"the page has {sorted(sections)}, dvnet {sorted(names)}")
    for name in names:
        own = options(dvnet, name)
        check(own, f"{name} has no options")
        described = re.findall(r"^\.TP\n(?:-\w, )?(--[\w-]+)", sections.get(name, ""), re.MULTILINE)
        check(described == own, f"{name}: the page has {described}, --help {own}")
        offered = completed(script, "dvnet", *name.split(), "--")
        check(set(offered) == {"--help", *own}, f"{name}: bash offers {offered}, --help {own}")
    firsts = sorted({name.split()[0] for name in names})
    check(sorted(completed(script, "dvnet", "")) == sorted(["--help", "--version", *firsts]),
          "the commands")
    for name in names:
        if " " in name:
            first, second = name.split()
            check(second in completed(script, "dvnet", first, second[:2]), name)
    if "convert" in names:
        for words in (("--resize", "letter"), ("--resize", "=", "letter")):
            check(completed(script, "dvnet", "convert", *words) == ["letterbox", "letterbox-top-left"],
                  f"choices of {words}")
        for option, values in (("--order", ["bgr", "rgb", "gray"]), ("--layout", ["whc", "hwc"])):
            check(completed(script, "dvnet", "convert", option, "") == values, f"choices of {option}")
            check(": " + ", ".join([values[0] + " (default)", *values[1:]]) in page, f"{option} on the page")
        check(completed(script, "dvnet", "convert", "--mean", "1") == [], "a number is no choice")
        check(completed(script, "dvnet", "convert", "--labels", sys.argv[0][:-1]) == [sys.argv[0]],
              "files of an option")
        check(completed(script, "dvnet", "convert", sys.argv[0][:-1]) == [sys.argv[0]], "files")
    for failure in failures:
        print(f"FAILED {failure}")
    print(f"{checked} checked, {len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
