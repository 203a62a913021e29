# SPDX-License-Identifier: Apache-2.0
"""Reads what our recipes use of bitbake's language, and nothing more: a line that this does not understand is an error,
because it has not been checked.

Recipe(path, **given) has the values of variables as bitbake computes them (get), the rows of flags (flags) and what is
inherited. `given` are variables that bitbake would know from elsewhere, a release's or a machine's.
"""
import os
import re
import types

# Of bitbake.conf, where a package does not say otherwise.
PATHS = {'prefix': '/usr', 'bindir': '/usr/bin', 'libdir': '/usr/lib', 'datadir': '/usr/share', 'mandir': '/usr/share/man',
         'includedir': '/usr/include', 'sysconfdir': '/etc', 'nonarch_base_libdir': '/lib', 'WORKDIR': '/work'}
PACKAGES = '${PN}-src ${PN}-dbg ${PN}-staticdev ${PN}-dev ${PN}-doc ${PN}-locale ${PACKAGE_BEFORE_PN} ${PN}'
# What a class adds where it is inherited: a package and its files. Until 5.0 to PACKAGES, since then to PACKAGE_BEFORE_PN,
# which a recipe that sets it later without += undoes.
CLASS_FILES = {'bash-completion': ('${PN}-bash-completion', '${datadir}/bash-completion ${sysconfdir}/bash_completion.d')}

ASSIGNMENT = re.compile(r'(?P<name>[\w${}:.+-]+)(?:\[(?P<flag>[\w-]+)\])? *(?P<op>\?\?=|\?=|:=|\+=|=\+|\.=|=\.|=) *"(?P<value>.*)"\s*')
FUNCTION = re.compile(r'(python )?(?P<name>[\w:]*) ?\(\) \{')
EXPRESSION = re.compile(r'\$\{@((?:\{.*?\}|.)+?)\}')
VARIABLE = re.compile(r'\$\{([\w:-]+)\}')


class NotUnderstood(Exception):
    pass


def joined(path):
    """(number, line) with continued lines as one, without comments and blank lines."""
    number, whole = 0, ''
    with open(path, encoding='utf-8') as file:
        for at, line in enumerate(file.read().split('\n'), 1):
            if not whole and (not line.strip() or line.startswith('#')):
                continue
            number = number or at
            whole += line[:-1] if line.endswith('\\') else line
            if not line.endswith('\\'):
                yield number, whole
                number, whole = 0, ''


class Recipe:
    def __init__(self, path, **given):
        self.path, self.inherited, self.required, self.flags, self.functions = path, [], [], {}, {}
        self.values, self.weak, self.later, self.names = dict(PATHS), {}, [], []
        name = os.path.basename(path).split('.')[0].split('_')
        self.values.update({'PN': name[0], 'BP': name[0] + '-${PV}', 'PACKAGES': PACKAGES, 'LAYERDIR': os.path.dirname(os.path.dirname(path))})
        self.values.update(given)
        self.read()

    def read(self):
        lines = joined(self.path)
        for number, line in lines:
            assignment, function = ASSIGNMENT.fullmatch(line), FUNCTION.fullmatch(line)
            if assignment:
                self.assign(number, **assignment.groupdict())
            elif function:
                body = []
                for _, inner in lines:
                    if inner == '}':
                        break
                    body.append(inner)
                self.functions[function['name']] = body
            elif line.startswith('inherit '):
                self.inherit(line.split()[1:])
            elif line.startswith('require '):
                self.required.append(line[8:])
            else:
                raise NotUnderstood('%s:%d: %s' % (self.path, number, line))

    def inherit(self, classes):
        self.inherited += classes
        for package, files in (CLASS_FILES[name] for name in classes if name in CLASS_FILES):
            into = 'PACKAGES' if self.get('LAYERSERIES_CORENAMES') == 'scarthgap' else 'PACKAGE_BEFORE_PN'
            self.values[into] = self.values.get(into, '') + ' ' + package
            self.values['FILES:' + self.expand(package)] = files

    def assign(self, number, name, flag, op, value):
        self.names.append((number, name, flag))
        if flag:
            self.flags.setdefault(name, {})[flag] = value
            return
        name = self.expand(name)
        last = re.search(r':(append|prepend|remove)$', name)
        if last:
            self.later.append((name[:last.start()], last[1], value))
        elif op == '??=':
            self.weak[name] = value
        elif op == '?=':
            self.values.setdefault(name, value)
        elif op in ('+=', '=+', '.=', '=.'):
            parts = [self.values.get(name, ''), value]
            self.values[name] = (' ' if op in ('+=', '=+') else '').join(parts if op[0] in '+.' else parts[::-1])
        else:
            self.values[name] = value

    def raw(self, name):
        value = self.values.get(name, self.weak.get(name))
        for variable, how, text in self.later:
            if variable == name and how != 'remove':
                value = (value or '') + text if how == 'append' else text + (value or '')
        return value

    def get(self, name, fallback=''):
        value = self.raw(name)
        return fallback if value is None else self.expand(value)

    def words(self, name):
        return self.get(name).split()

    def expand(self, text):
        for _ in range(20):
            before = text
            text = VARIABLE.sub(lambda found: found[0] if self.raw(found[1]) is None else self.raw(found[1]), text)
            # Like bitbake, not before all variables in an expression are known.
            text = EXPRESSION.sub(lambda found: found[0] if '${' in found[1] else str(self.evaluate(found[1])), text)
            if text == before:
                break
        return text

    def evaluate(self, expression):
        """Python in a recipe, which is ours, with the few functions of bitbake that it calls."""
        def contains(name, wanted, yes, no, _):
            return yes if set(wanted.split()) <= set(self.words(name)) else no

        def contains_any(name, wanted, yes, no, _):
            return yes if set(wanted.split()) & set(self.words(name)) else no

        bb = types.SimpleNamespace(utils=types.SimpleNamespace(contains=contains, contains_any=contains_any))
        return eval(expression, {'bb': bb, 'os': os, 'd': types.SimpleNamespace(getVar=self.get)})
