#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""alone.py BUILD FOLDER: compiles each source of the programs that a build makes in its FOLDER by itself, as libFuzzer's
build does. The build itself joins sources, so that one finds what another includes."""
import concurrent.futures
import json
import os
import re
import shlex
import subprocess
import sys

INCLUDE = re.compile(r'#include *<([^>]+)>')


def sources_of(build, command):
    path = os.path.join(build, command['file'])
    if not path.endswith('-unity0.cpp'):
        return [path]
    with open(path, encoding='utf-8') as joined:
        return INCLUDE.findall(joined.read())


def check(build, words, source):
    done = subprocess.run([*words, '-fsyntax-only', source], cwd=build, capture_output=True, text=True)
    return '' if done.returncode == 0 else f'{source} cannot be compiled alone:\n{done.stderr}'


def main(build, folder):
    with open(os.path.join(build, 'compile_commands.json'), encoding='utf-8') as commands:
        commands = [c for c in json.load(commands) if c['output'].startswith(folder + '/')]
    jobs = []
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for command in commands:
            words = shlex.split(command['command'])
            words = words[:words.index('-MD')]  # what follows names files
            jobs += [pool.submit(check, build, words, source) for source in sources_of(build, command)]
    wrong = [job.result() for job in jobs if job.result()]
    print('\n'.join(wrong) or f'{len(jobs)} sources are complete')
    return 1 if wrong or not jobs else 0


if __name__ == '__main__':
    sys.exit(main(*sys.argv[1:]))
