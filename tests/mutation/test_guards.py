#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""An inactive bug does, once it is activated, what its line does as planted; and nothing before. The lines of survivors'
reasons exist.

Usage: test_guards.py COMPILER...
"""
import os
import random
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import bugs  # noqa: E402
import guards  # noqa: E402

COMPILER = []

# Code that the forms must handle: heads of loops, comments within and behind expressions, strings
# with brackets and operators, declarations of constants, statements below a condition, members,
# lambdas.
PROGRAM = '''\
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

namespace {

constexpr int kMost = 12;  // of something; anything
const char* const kNames[] = {"a, b", "c - d ? e : f;"};

struct Point {
  int x = 3, y = 4;
  bool far = false;
};

int sum(const std::vector<int>& of) {
  int all = 0;
  for (size_t i = 0; i < of.size(); ++i) {
    if (of[i] == 5 && of[i] != 6) continue;
    all += of[i] * 2 - 1;  // (not closed
  }
  for (int v : of)
    if (v > 7) all += 100;
  return all > 50 ? all - 50 : all + 1000;
}

int bounded(int v, const Point& p) {
  const int least = std::min(v, /* the x, or: */ p.x) + std::max(p.y, 2);
  int steps = 0;
  while (steps < 5 && !(steps == v)) {
    ++steps;
  }
  if (!p.far || v % 3 == 1) steps += 10;
  return least * 100 +
         // Neither of these brackets ((
         steps * (v >= kMost ? 7 : 9);
}

std::string joined(const std::vector<std::string>& texts) {
  std::string all = "<";
  for (const std::string& text : texts) {
    if (all.size() > 1) all.append(", ");
    all.append(text + ")");
  }
  const bool any = std::any_of(texts.begin(), texts.end(), [](const std::string& t) { return t == "c - d ? e : f;"; });
  return any ? all : all.substr(1);
}

}  // namespace

int main() {
  std::vector<int> list = {1, 5, 6, 7, 8};
  Point point;
  std::printf("%d %d %d\\n", sum(list), sum({5}), sum({}));
  for (int v = 0; v < 15; v += 4) std::printf("%d ", bounded(v, point));
  std::sort(list.begin(), list.end(), [](int a, int b) { return a % 3 < b % 3; });
  std::printf("%d %s %s\\n", list[0], joined({kNames[0]}).c_str(), joined({kNames[0], kNames[1]}).c_str());
}
'''


class Guards(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def compiled(self, text, name):
        """Returns the program, or the compiler's messages."""
        file, program = (os.path.join(self.folder.name, name + end) for end in ('.cpp', ''))
        with open(file, 'w', encoding='utf-8') as f:
            f.write(text)
        done = subprocess.run(COMPILER + ['-std=c++17', '-w', '-O0', '-include', os.path.join(HERE, 'bug.h'), '-I' + HERE, file,
                                          os.path.join(HERE, 'bug.cpp'), '-o', program], capture_output=True, text=True, check=False)
        return (program, '') if done.returncode == 0 else (None, done.stderr)

    def said(self, program, **env):
        """Returns a program's output, and how it ended, if it did: a bug may make it run for ever."""
        try:
            done = subprocess.run([program], env=dict(os.environ, **env), capture_output=True, timeout=2, check=False)
        except subprocess.TimeoutExpired:
            return 'runs on'
        return (done.returncode, done.stdout) if done.returncode == 0 else 'died'

    def test_each_bug_alone_and_awake(self):
        every = bugs.bugs_of(PROGRAM, False)
        self.assertEqual({'operator', 'bound', 'constant', 'condition', 'statement'}, {bug[1] for bug in every})
        plain, said = self.compiled(PROGRAM, 'plain')
        self.assertTrue(plain, said)
        tried = 0
        for seed in range(2):
            # One bug a line, as they are drawn.
            chance = random.Random(seed)
            by_line = {}
            for bug in chance.sample(every, len(every)):
                by_line.setdefault(bug[0], bug)
            taken = dict(enumerate(by_line.values(), 1))
            text, without = guards.put_to_sleep(PROGRAM, taken)
            self.assertEqual(PROGRAM.count('\n'), text.count('\n'))
            program, said = self.compiled(text, 'asleep')
            self.assertTrue(program, said)
            self.assertEqual(self.said(plain), self.said(program))
            for n in chance.sample(sorted(set(taken) - set(without)), 4):
                lines = PROGRAM.split('\n')
                lines[taken[n][0] - 1] = taken[n][3]
                alone, _ = self.compiled('\n'.join(lines), 'alone')
                if alone:
                    self.assertEqual(self.said(alone), self.said(program, DVNN_BUG=str(n)), taken[n])
                    tried += 1
        self.assertGreater(tried, 5)

    def test_reached(self):
        bug = next(b for b in bugs.bugs_of(PROGRAM, False) if 'all += of[i]' in b[2])
        asleep, _ = guards.put_to_sleep(PROGRAM, {3: bug})
        for text, marks in ((asleep, b'\0\0\0\1'), (asleep.replace('sum(list), sum({5})', 'sum({}), sum({})'), b'\0' * 4)):
            program, said = self.compiled(text, 'reached')
            self.assertTrue(program, said)
            file = os.path.join(self.folder.name, 'marks')
            with open(file, 'wb') as f:
                f.write(b'\0' * 4)
            self.said(program, DVNN_BUGS_REACHED=file)
            with open(file, 'rb') as f:
                self.assertEqual(marks, f.read())

    def test_a_reason_is_of_a_line_that_is_there(self):
        root = os.path.dirname(os.path.dirname(HERE))
        with open(os.path.join(HERE, 'reasons'), encoding='utf-8') as f:
            rows = [line.split(' | ') for line in f if line.strip() and not line.startswith('#')]
        for path, old, *_ in rows:
            with open(os.path.join(root, path), encoding='utf-8') as f:
                self.assertIn(old.strip(), map(str.strip, f), '%s: its line has gone, and so has the reason' % path)


if __name__ == '__main__':
    COMPILER = sys.argv[1:]
    sys.exit(unittest.main(argv=sys.argv[:1]))
