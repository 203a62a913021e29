# SPDX-License-Identifier: Apache-2.0
"""The small bugs that can be planted in src/ and gst/, and the order in which a seed draws them."""
import collections
import os
import random
import re
import subprocess

MANY_INCLUDES = 3  # a header that more files include is near all tests

# Comments, strings and characters are blanked, so that no bug is planted in them.
BLANKED = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'', re.S)
# Binary operators have spaces around them (clang-format); brackets of templates do not.
SWAPS = [('operator', ' %s ' % a, ' %s ' % b) for a, b in [
    ('<', '<='), ('<=', '<'), ('>', '>='), ('>=', '>'), ('==', '!='), ('!=', '=='), ('&&', '||'), ('||', '&&'),
    ('+', '-'), ('-', '+'), ('*', '/'), ('/', '*'), ('%', '*'), ('+=', '-='), ('-=', '+='), ('|=', '&='), ('|', '&')]]
SWAPS += [('bound', 'std::min', 'std::max'), ('bound', 'std::max', 'std::min'), ('operator', '++', '--'),
          ('constant', 'true', 'false'), ('constant', 'false', 'true'), ('bound', 'begin()', 'end()')]
NUMBER = re.compile(r'(?<![\w.])(\d+)(?![\w.])')
FLOAT = re.compile(r'(?<![\w.])(\d+\.\d+)(f?)(?![\w.])')
CONDITION = re.compile(r'\b(if|while) \((?!const |auto |!)')
NOT = re.compile(r'!(?=[a-z(])')
STATEMENT = re.compile(r'^\s*(?!return\b|using\b|typedef\b|case\b|default:|public:|constexpr\b|const\b|static\b|'
                       r'DVNN_ASSIGN\b|[#}])[\w:>.\-\[\]*()+]+.*;$')
DECLARATION = re.compile(r'^\s*(?!delete\b|if\b|for\b)[\w:<>,]+[ *&]+(const )?[ *&]*\w+( =|;|\(|\{|,)')
# Lines without behaviour: logs, static and test assertions, declarations.
LEFT_OUT = re.compile(r'^\s*(#|using |namespace |static_assert|template|GST_(DEBUG|LOG|INFO|TRACE|WARNING|MEMDUMP|CAT)|'
                      r'g_return|extern|typedef|enum |class |struct |friend )|GST_(DEBUG|LOG|INFO|TRACE)\b')


def blank(text, string=' '):
    """Replaces comments by spaces, and strings and characters by the same number of another character."""
    return BLANKED.sub(lambda m: re.sub(r'[^\n]', ' ' if m.group().startswith('/') else string, m.group()), text)


def bugs_of(text, header):
    """Returns all bugs of a file: (line number, kind, old line, new line)."""
    found = []
    lines, shown = blank(text).split('\n'), text.split('\n')
    continued, brackets = False, 0
    for i, line in enumerate(lines):
        directive = continued or line.lstrip().startswith('#')
        continued = directive and line.rstrip().endswith('\\')
        whole = brackets == 0
        brackets = max(0, brackets + line.count('(') - line.count(')'))
        if directive or LEFT_OUT.search(line) or not line.strip():
            continue
        old = shown[i]

        def put(kind, start, end, new):
            found.append((i + 1, kind, old, old[:start] + new + old[end:]))

        has_text = '"' in old  # strings can be added, but not subtracted
        for kind, a, b in SWAPS:
            at = line.find(a)
            while at >= 0:
                before, after = line[at - 1:at], line[at + len(a):at + len(a) + 1]
                word = a.strip()[0].isalpha()
                if not (word and (before.isalnum() or before == '_' or after.isalnum() or after == '_')) and \
                        not (has_text and a in (' + ', ' += ')):
                    put(kind, at, at + len(a), b)
                at = line.find(a, at + len(a) - 1)
        for m in NUMBER.finditer(line):
            negative = line[:m.start()].endswith('-')
            put('constant', m.start(), m.end(), '0' if m.group() == '1' and not negative else str(int(m.group()) + 1))
        for m in FLOAT.finditer(line):
            put('constant', m.start(), m.end(), '%#g%s' % (float(m.group(1)) * 1.5 + 1, m.group(2)))
        for m in CONDITION.finditer(line):
            depth, end = 0, None
            for at in range(m.end() - 1, len(line)):
                depth += (line[at] == '(') - (line[at] == ')')
                if depth == 0:
                    end = at
                    break
            if end and ';' not in line[m.end():end]:
                put('condition', m.end(), end, '!(' + old[m.end():end] + ')')
        for m in NOT.finditer(line):
            put('condition', m.start(), m.end(), '')
        previous = next((l.strip() for l in reversed(lines[:i]) if l.strip()), '')
        if whole and not header and STATEMENT.match(line) and not DECLARATION.match(line) and line.count('(') == line.count(')') and (not previous or previous[-1] in '{};:)') \
                and not previous.endswith('= {'):
            indent = len(line) - len(line.lstrip())
            # An empty statement, so that the statement below an if keeps its place.
            put('statement', indent, len(old), ';' if previous.endswith(')') else '{}')
    return found


def sources(root):
    listed = subprocess.run(['git', '-C', root, 'ls-files', 'src', 'gst'], capture_output=True, text=True, check=True).stdout.split()
    listed = [p for p in listed if re.search(r'\.(cpp|h)$', p)]
    texts = {p: open(os.path.join(root, p), encoding='utf-8').read() for p in listed}
    included = collections.Counter(
        os.path.basename(m) for t in texts.values() for m in re.findall(r'#include "([^"]+)"', t))
    return {p: t for p, t in texts.items() if p.endswith('.cpp') or included[os.path.basename(p)] <= MANY_INCLUDES}


def draw(root, seed):
    """Returns all bugs in planting order: folders take turns by their numbers of lines; one bug a line."""
    by_folder = collections.defaultdict(list)
    weights = collections.Counter()
    chance = random.Random(seed)
    for path, text in sorted(sources(root).items()):
        by_line = collections.defaultdict(list)
        for bug in bugs_of(text, path.endswith('.h')):
            by_line[bug[0]].append(bug)
        folder = '/'.join(path.split('/')[:2])
        for number in sorted(by_line):
            # By kind first, because there are many numbers and few statements.
            kinds = collections.defaultdict(list)
            for bug in by_line[number]:
                kinds[bug[1]].append(bug)
            by_folder[folder].append((path,) + chance.choice(kinds[chance.choice(sorted(kinds))]))
        weights[folder] += text.count('\n')
    for bugs in by_folder.values():
        chance.shuffle(bugs)
    given = collections.Counter()
    order = []
    while any(by_folder.values()):
        folder = min((f for f in by_folder if by_folder[f]), key=lambda f: ((given[f] + 0.5) / weights[f], f))
        given[folder] += 1
        order.append(by_folder[folder].pop())
    return order


def listed(root):
    """Returns the bugs of tests/mutation/planted whose lines still exist, in its order."""
    texts, found = {}, []
    with open(os.path.join(root, 'tests', 'mutation', 'planted'), encoding='utf-8') as f:
        rows = [line.rstrip('\n').split(' | ', 2) for line in f if not line.startswith('#')]
    for place, kind, change in rows:
        path, drawn = place.rsplit(':', 1)
        if path not in texts:
            file = os.path.join(root, path)
            texts[path] = open(file, encoding='utf-8').read().split('\n') if os.path.exists(file) else []
        # The same line may exist twice: the nearest one to the old place is meant.
        near = [n for n, line in enumerate(texts[path], 1) if line.strip() and change.startswith(line.strip() + ' | ')]
        if near:
            number = min(near, key=lambda n: abs(n - int(drawn)))
            old = texts[path][number - 1]
            indent = old[:len(old) - len(old.lstrip())]
            found.append((path, number, kind, old, indent + change[len(old.strip()) + 3:]))
    return found
