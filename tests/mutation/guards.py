# SPDX-License-Identifier: Apache-2.0
"""Inactive bugs: a line's bug is compiled beside the line, and DVNN_BUG(number) of bug.h chooses at run time.

So all bugs of a trial are built once. Some bugs have no such form, for example in a constant expression or a template's
arguments: the compiler refuses it, and the bug is compiled alone. The form keeps the number of lines, so that the compiler's
messages name the right one.
"""
import re

from bugs import blank

OPENERS, CLOSERS = '([{', ')]}'
# Ends and beginnings of an expression that a choice between two can replace. Operators have spaces
# around them.
LEFT_END = re.compile(r'(?:;|,|\breturn|\belse|\bthrow| [-+*/%&|^]?=| \?| :)$')
RIGHT_END = re.compile(r'(?:;|,| \? | : )')
COMMENT = re.compile(r'//[^\n]*|/\*.*?\*/', re.S)


def changed_part(old, new):
    """Returns (start, end, text): the part of the old line that `text` replaces, each with all of its brackets."""
    start = 0
    while start < min(len(old), len(new)) and old[start] == new[start]:
        start += 1
    rest = 0
    while rest < min(len(old), len(new)) - start and old[-1 - rest] == new[-1 - rest]:
        rest += 1
    while rest > 0 and new[start:len(new) - rest].count('(') != new[start:len(new) - rest].count(')'):
        rest -= 1
    return start, len(old) - rest, new[start:len(new) - rest]


def is_head(shown, close):
    """Whether a closing bracket ends the head of a loop or a condition, after which a statement begins."""
    depth = 0
    for at in range(close, -1, -1):
        depth += (shown[at] == ')') - (shown[at] == '(')
        if depth == 0:
            return re.search(r'\b(?:if|for|while) $', shown[max(0, at - 8):at]) is not None
    return False


def expression(shown, start, end):
    """Returns the bounds of the smallest expression around a part, between brackets, commas, assignments and the like."""
    depth, left = 0, start
    while left > 0:
        c = shown[left - 1]
        if c in CLOSERS:
            if c == '}' and depth == 0 and shown[left:start].lstrip(' ')[:1] == '\n':
                break  # the end of a statement
            if c == ')' and depth == 0 and is_head(shown, left - 1):
                break
            depth += 1
        elif c in OPENERS:
            if depth == 0:
                break
            depth -= 1
        elif depth == 0 and LEFT_END.search(shown, max(0, left - 10), left) and (c not in '=:?' or shown[left:left + 1] in ' \n'):
            break
        left -= 1
    depth, right = 0, end
    while right < len(shown):
        c = shown[right]
        if c in OPENERS:
            depth += 1
        elif c in CLOSERS:
            if depth == 0:
                break
            depth -= 1
        elif depth == 0 and RIGHT_END.match(shown, right):
            break
        right += 1
    while left < start and shown[left] in ' \n':
        left += 1
    while right > end and shown[right - 1] in ' \n':
        right -= 1
    return left, right


def declared_constant(shown, at):
    """Returns the place of the word constexpr in the declaration around a place; None if there is none."""
    depth, left = 0, at
    while left > 0:
        c = shown[left - 1]
        if c in CLOSERS:
            if c == '}' and depth == 0 and shown[left:left + 1] == '\n':
                break
            depth += 1
        elif c in OPENERS:
            if depth > 0:
                depth -= 1
            elif c == '{' and not re.search(r'(?:[=,{(]\s*|\w)$', shown[:left - 1][-60:]):
                break  # a body, not a list of values
        elif c == ';' and depth == 0:
            break
        left -= 1
    found = re.compile(r'\s*(?:(?:static|inline) )*(constexpr) ').match(shown, left, at)
    return found.span(1) if found else None


def one_line(text):
    return COMMENT.sub('', text).replace('\n', ' ')


def asleep(text, bug, number):
    """Returns the changes (start, end, new text) of a file that add a bug inactively; None if it has no such form.

    bug is (line, kind, old line, new line).
    """
    line, kind, old, new = bug
    begin = sum(len(l) + 1 for l in text.split('\n')[:line - 1])
    if kind == 'statement':
        start = begin + len(old) - len(old.lstrip())
        return [(start, begin + len(old), '{ if (!DVNN_BUG(%d)) { %s } }' % (number, one_line(old[start - begin:])))]
    shown = blank(text, '_')
    start, end, part = changed_part(old, new)
    if kind == 'constant':
        # Numbers and truth values are replaced as a whole.
        while start > 0 and re.match(r'[\w.]', old[start - 1]):
            start, part = start - 1, old[start - 1] + part
        while end < len(old) and re.match(r'[\w.]', old[end]):
            end, part = end + 1, part + old[end]
        changes = [(begin + start, begin + end, '(DVNN_BUG(%d) ? %s : %s)' % (number, part, old[start:end]))]
        constant = declared_constant(shown, begin + start)
        if constant:
            in_class = re.search(r'static $', shown[:constant[0]][-7:]) and shown[:constant[0] - 7].endswith('  ')
            changes.insert(0, constant + ('inline const' if in_class else 'const',))
        return changes
    left, right = expression(shown, begin + start, begin + end)
    whole = text[left:right]
    if 'R"' in whole or re.search(r'^\s*#', whole, re.M):
        return None
    changed = one_line(text[left:begin + start] + part + text[begin + end:right])
    if kind == 'condition':
        form = '(DVNN_BUG(%d) ? static_cast<bool>(%s) : static_cast<bool>(%s))'
    else:
        form = '(DVNN_BUG(%d) ? (%s) : (%s))'
    # A comment at the expression's end would hide the bracket.
    if re.search(r'//[^\n]*$', whole):
        whole = one_line(whole)
    return [(left, right, form % (number, changed, whole))]


def put_to_sleep(text, bugs):
    """Returns a file's text with its bugs {number: bug} inactive, and the numbers of those that have no such form."""
    taken, awake = [], []
    for number, bug in sorted(bugs.items()):
        changes = asleep(text, bug, number)
        if changes is None or any(a < end and start < b for a, b, _ in taken for start, end, _ in changes):
            awake.append(number)
        else:
            taken += changes
    for start, end, new in sorted(taken, reverse=True):
        text = text[:start] + new + text[end:]
    return text, awake
