# SPDX-License-Identifier: Apache-2.0
"""A clone with inactive bugs: builds it, runs tests in it, and finds out which bugs the tests reach."""
import collections
import concurrent.futures
import contextlib
import fnmatch
import functools
import json
import os
import re
import shlex
import signal
import subprocess
import tempfile
import time

import guards

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
FIRST_LIMIT = 900  # seconds for a test that has not yet run without a bug
NOT_BUILT = 1e18  # later than every time

# Separate units, so that the compiler names a bug's own file; one instruction set, like all others.
# Without contraction, so that numbers are those of the sets chosen at run time. Without warnings,
# because a choice between two constants is no constant.
OPTIONS = ['-Doptimization=1', '-Dunity=off', '-Dwerror=false', '-Dwarning_level=0']
SET = '-DHWY_COMPILE_ONLY_STATIC -ffp-contract=off -mavx2 -mfma -mbmi -mbmi2 -mf16c -maes -mpclmul -mpopcnt'


class Trial:
    def __init__(self, folder, options, nice, jobs):
        self.folder = os.path.realpath(folder)
        self.source = os.path.join(self.folder, 'source')
        self.build = os.path.join(self.source, 'build-dev')
        self.nice, self.jobs = ['nice', '-n', str(nice)], jobs
        self.options = options
        if not os.path.exists(self.source):
            os.makedirs(self.folder, exist_ok=True)
            subprocess.run(['git', 'clone', '-q', ROOT, self.source], check=True)
        with open(os.path.join(HERE, 'suites'), encoding='utf-8') as f:
            self.rows = [line.split() for line in f if line.strip() and not line.startswith('#')]
        self.seconds, self.reached = {}, {}
        self.includers = collections.defaultdict(list)

    # --- building --------------------------------------------------------------------------------------------------

    def configure(self):
        library = os.path.join(self.folder, 'libdvnn-bug.so')
        header = os.path.join(self.folder, 'bug.h')
        if not os.path.exists(os.path.join(self.build, 'build.ninja')):
            with open(os.path.join(HERE, 'bug.h'), encoding='utf-8') as source, open(header, 'w', encoding='utf-8') as f:
                f.write(source.read())
            subprocess.run(['c++', '-O1', '-fPIC', '-shared', '-I' + self.folder, os.path.join(HERE, 'bug.cpp'), '-o', library], check=True)
            include, link = '-include ' + header, '-L%s -ldvnn-bug -Wl,-rpath,%s -fuse-ld=gold' % (self.folder, self.folder)
            data = '-Dtest_data=' + os.path.join(ROOT, '..', 'shared', 'data')
            subprocess.run(self.nice + ['meson', 'setup', self.build, self.source, data, *OPTIONS,
                                        '-Dcpp_args=-w -Wno-narrowing %s %s' % (include, SET), '-Dc_args=-w ' + include,
                                        '-Dcpp_link_args=' + link, '-Dc_link_args=' + link] + self.options,
                           check=True, stdout=subprocess.DEVNULL)
        self.ninja('build.ninja')
        shown = subprocess.run(['meson', 'introspect', self.build, '--tests', '--targets'], capture_output=True, text=True, check=True)
        known = json.loads(shown.stdout)
        self.targets = {t['id']: [os.path.relpath(f, self.build) for f in t['filename']] for t in known['targets']}
        self.tests = {t['name']: t for t in known['tests']}
        with open(os.path.join(self.build, 'compile_commands.json'), encoding='utf-8') as f:
            self.commands = {self.path_of(c['file']): c['command'] for c in json.load(f)}

    def path_of(self, file):
        return os.path.relpath(os.path.realpath(os.path.join(self.build, file)), self.source)

    def committed(self, path):
        return subprocess.run(['git', '-C', self.source, 'show', 'HEAD:' + path], capture_output=True, text=True, check=True).stdout

    def write(self, path, text):
        if self.text_of(path) != text:
            with open(os.path.join(self.source, path), 'w', encoding='utf-8') as f:
                f.write(text)

    @contextlib.contextmanager
    def with_text(self, path, text):
        """Replaces a file's text for a while."""
        before = self.text_of(path)
        try:
            self.write(path, text)
            yield
        finally:
            self.write(path, before)

    def planted(self, path, bug):
        """Returns the text of a file with one bug, and no inactive ones."""
        lines = self.committed(path).split('\n')
        lines[bug[0] - 1] = bug[3]
        return '\n'.join(lines)

    def ninja(self, *targets):
        done = subprocess.run(self.nice + ['ninja', '-C', self.build, '-j%d' % self.jobs, '-k', '0', *targets],
                              capture_output=True, text=True, check=False)
        return '' if done.returncode == 0 else done.stdout

    def build_asleep(self, planted):
        """Builds with every bug {number: (path, bug)} inactive that has such a form; returns the numbers of the
        others."""
        by_path = collections.defaultdict(dict)
        for number, (path, bug) in planted.items():
            by_path[path][number] = bug
        alone = set()
        for turn in range(8):
            for path, listed in by_path.items():
                text, without = guards.put_to_sleep(self.committed(path), {n: b for n, b in listed.items() if n not in alone})
                alone.update(without)
                self.write(path, text)
            wrong = self.ninja()
            if not wrong:
                return alone
            refused = self.refused_in(wrong, by_path, alone)
            print('build %d: %d more bugs have no sleeping form' % (turn + 1, len(refused)), flush=True)
            if not refused:
                # A test that cannot be built like this is left out.
                print('not built: ' + ' '.join(re.findall(r'^FAILED: (.*)', wrong, re.M)), flush=True)
                return alone
            alone |= refused
        raise SystemExit('the clone does not build')

    def refused_in(self, output, by_path, alone):
        """Returns the bugs on whose lines the compiler reports something; else all bugs of the unit that failed."""
        refused = set()
        for part in re.split(r'^FAILED: ', output, flags=re.M)[1:]:
            named, failed = set(), set()
            for file, line, what in re.findall(r'^([^\s:]+):(\d+):\d+: (error|note|  required)', part, re.M):
                bugs_of_file = {n: bug for n, bug in by_path.get(self.path_of(file), {}).items() if n not in alone}
                at = {n for n, bug in bugs_of_file.items() if bug[0] == int(line)}
                named |= at
                if what == 'error':
                    named |= {n for n, bug in bugs_of_file.items() if not at and abs(bug[0] - int(line)) == 1}
                    failed |= set(bugs_of_file)
            refused |= named or failed
        return refused

    def is_compiled(self, number, path):
        """Whether an inactive bug is compiled here, behind all #if."""
        if any(number in reached for reached in self.reached.values()):
            return True
        return any('dvnn_bugs_reached[%d]' % number in self.preprocessed(p) for p in self.units_with(path)[:5])

    def units_with(self, path):
        """Returns the units that are compiled with a file: itself, or those that include a header."""
        if path in self.commands:
            return [path]
        if not self.includers:
            listed = subprocess.run(['ninja', '-C', self.build, '-t', 'deps'], capture_output=True, text=True, check=True).stdout
            for part in listed.split('\n\n'):
                files = [self.path_of(line.strip()) for line in part.split('\n')[1:]]
                for file in files:
                    self.includers[file] += [unit for unit in files[:1] if unit in self.commands]
        return self.includers[path]

    def text_of(self, path):
        with open(os.path.join(self.source, path), encoding='utf-8', errors='replace') as f:
            return f.read()

    def preprocessed(self, path):
        words = shlex.split(self.commands[path])
        out = words.index('-o')
        words[out:out + 2] = []
        words[words.index('-c'):words.index('-c') + 1] = ['-E']
        return subprocess.run(words, cwd=self.build, capture_output=True, text=True, errors='replace', check=False).stdout

    def is_refused(self, path, bug):
        """Whether the compiler refuses a bug with the warnings that .ci/run turns into errors."""
        units = self.units_with(path)
        return bool(units) and self.compiles(units[0], path, self.committed(path)) and not self.compiles(
            units[0], path, self.planted(path, bug))

    @functools.lru_cache(maxsize=None)
    def compiles(self, unit, path, text):
        """Whether a unit compiles without a warning with that text in one of its files."""
        words = [w for w in shlex.split(self.commands[unit]) if w != '-w'] + ['-Wall', '-Wextra', '-Werror']
        for option in ('-o', '-MF'):
            words[words.index(option) + 1] = '/dev/null'
        with self.with_text(path, text):
            return subprocess.run(words, cwd=self.build, capture_output=True, check=False).returncode == 0

    # --- running ---------------------------------------------------------------------------------------------------

    def run(self, test, limit, **env):
        """'passed', 'failed', 'hangs' or 'skipped'."""
        t = self.tests[test]
        child = subprocess.Popen(self.nice + t['cmd'], cwd=t['workdir'] or self.build, env=dict(os.environ, **t['env'], **env),
                                 stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        try:
            status = child.wait(timeout=limit)
            return {0: 'passed', 77: 'skipped'}.get(status, 'failed')
        except subprocess.TimeoutExpired:
            return 'hangs'
        finally:
            try:
                os.killpg(child.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            child.wait()

    def learn(self, test, bug_count):
        """Returns a test's time without a bug, and the bugs that it reaches; None if it does not pass."""
        with tempfile.NamedTemporaryFile() as marks:
            marks.write(b'\0' * (bug_count + 1))
            marks.flush()
            start = time.time()
            result = self.run(test, FIRST_LIMIT, DVNN_TEST_BRIEFLY='8', DVNN_BUGS_REACHED=marks.name)
            seconds = time.time() - start
            marks.seek(0)
            reached = [n for n, mark in enumerate(marks.read()) if mark]
        if result != 'passed':
            print('%s %s without a bug: left out' % (test, result), flush=True)
        return (seconds if result == 'passed' else None), reached

    def files_of(self, test):
        """Returns the files that a test needs to be built, as paths within the build."""
        program = os.path.relpath(self.tests[test]['cmd'][0], self.build)
        files = {f for target in self.tests[test]['depends'] for f in self.targets[target]}
        return sorted(files if program.startswith('..') else files | {program})

    def built(self, test):
        """Returns when the last of a test's files was built; NOT_BUILT if one is missing."""
        files = [os.path.join(self.build, f) for f in self.files_of(test)]
        return max((os.path.getmtime(f) if os.path.exists(f) else NOT_BUILT for f in files), default=0)

    def learn_all(self, bug_count):
        """Runs each test that was rebuilt since its last run."""
        file = os.path.join(self.folder, 'tests.json')
        known = {}
        if os.path.exists(file):
            with open(file, encoding='utf-8') as f:
                known = json.load(f)
        built = {t: self.built(t) for t in self.tests}
        todo = [t for t, when in built.items() if when != NOT_BUILT and (t not in known or known[t]['built'] != when)]
        with concurrent.futures.ThreadPoolExecutor(self.jobs) as pool:
            asked = {pool.submit(self.learn, t, bug_count): t for t in todo}
            for done in concurrent.futures.as_completed(asked):
                test, (seconds, reached) = asked[done], done.result()
                known[test] = {'built': built[test], 'seconds': seconds, 'reached': reached}
                with open(file, 'w', encoding='utf-8') as f:
                    json.dump(known, f)
        for test, facts in known.items():
            if test in self.tests and facts['seconds'] is not None:
                self.seconds[test], self.reached[test] = facts['seconds'], set(facts['reached'])

    def near(self, path):
        for pattern, *names in self.rows:
            if fnmatch.fnmatch(path, pattern):
                return [t for name in names for t in sorted(self.tests) if fnmatch.fnmatch(t, name) and t in self.seconds]
        raise SystemExit('tests/mutation/suites has no row for %s' % path)

    def tests_of(self, path, number, most_seconds):
        """Returns the tests that reach a bug: those near it, then the others, quick ones first, within a limit of
        time."""
        near = self.near(path)
        others = sorted((t for t in self.seconds if t not in near), key=self.seconds.get)
        chosen, total = [], 0
        for test in sorted(near, key=lambda t: self.seconds[t] > 20) + others:
            if number is None and test not in near or number is not None and number not in self.reached[test]:
                continue
            total += self.seconds[test]
            if chosen and total > most_seconds:
                continue
            chosen.append(test)
        return chosen

    def fails(self, test, number, briefly):
        """Returns '', or how a test finds an active bug, twice."""
        env = {'DVNN_TEST_BRIEFLY': '8'} if briefly else {}
        if number is not None:
            env['DVNN_BUG'] = str(number)
        limit = (5 if briefly else 40) * self.seconds[test] + 10
        for _ in range(2):
            result = self.run(test, limit, **env)
            if result in ('passed', 'skipped'):
                return ''
        return test + (' (hangs)' if result == 'hangs' else '')

    def try_asleep(self, path, number, most_seconds, briefly):
        """Returns (result, test) of an inactive bug of the build."""
        chosen = self.tests_of(path, number, most_seconds)
        for test in chosen:
            told = self.fails(test, number, briefly)
            if told:
                return 'found', told
        return 'survived', '' if chosen else 'no test reaches it'

    def try_alone(self, path, bug, most_seconds, briefly):
        """Returns (result, test) of a bug that is compiled alone, with the others of its file removed."""
        with self.with_text(path, self.planted(path, bug)):
            for test in self.tests_of(path, None, most_seconds):
                wrong = self.ninja(*self.files_of(test))
                if wrong:
                    # A file that is made by running the program is a test, too.
                    return ('refused', '') if re.search(r'error:|undefined reference', wrong) else ('found', 'the build')
                told = self.fails(test, None, briefly)
                if told:
                    return 'found', told
        return 'survived', ''

    def take_tests_of(self, commit):
        """Puts the tests of a later commit into the clone, whose sources stay as they are."""
        subprocess.run(['git', '-C', self.source, 'fetch', '-q', ROOT, commit], check=True)
        subprocess.run(['git', '-C', self.source, 'checkout', '-q', 'FETCH_HEAD', '--', 'tests'], check=True)
