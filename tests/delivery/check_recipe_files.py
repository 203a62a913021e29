#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Installs the board's build and packages it as the recipe for Yocto says: each file belongs to one package, no package is
empty, and Debian has it in the package of the same meaning. The build has the options of the recipe, and found what DEPENDS names.

Arguments: SOURCE BUILD, as those of check_board.py, whose build this is. With --cross FILE, the machine file of another
processor (scripts/setup-cross), it is built in BUILD with exactly the recipe's options and paths for it, whose manual page an
emulator writes; with --buildroot, with exactly those of Buildroot's package. Code is not optimised then: files are compared.
"""
import argparse
import fnmatch
import os
import re
import sys
import tempfile

import check_board
from check_board import introspect, run
from check_recipes import ORIGINS, SERIES, meson_options, needs_of, rows, the_recipe

# Debian's names of the recipe's packages.
DEBIAN = {'gst-dvnn': 'gstreamer1.0-dvnn', 'gst-dvnn-publish': 'gstreamer1.0-dvnn-publish', 'gst-dvnn-tools': 'dvnet', 'gst-dvnn-doc': 'dvnet',
          'gst-dvnn-bash-completion': 'dvnet', 'gst-dvnn-networks': 'dvnn-networks', 'gst-dvnn-dev': 'libdvnn-dev', 'libdmpdv-soft': 'libdmpdv-soft0',
          'libdmp-network': 'libdmp-network0', 'libgstdvnn': 'libgstdvnn-1.0-0'}
# Of the default choice: what a distribution makes of debug information and translations, and what the recipe adds itself
# (its do_install) or has only with features that are off.
MAY_BE_EMPTY = {'gst-dvnn-src', 'gst-dvnn-dbg', 'gst-dvnn-staticdev', 'gst-dvnn-locale', 'gst-dvnn-python', 'gst-dvnn-udev'}
# Not of pkg-config, or asked for by what needs no package of its own.
NOT_ASKED = {'threads', 'dl'}


def options_differ(build, recipe, features):
    """The build's options that are not the recipe's. An option that is `auto` follows what is installed, which needs_differ sees."""
    chosen = recipe.words('PACKAGECONFIG')
    values = {option['name']: option['value'] for option in introspect(build, 'buildoptions') if option['name'] in features}
    # Decides nothing where the converter is off.
    values.pop('tflite') if values['convert'] == 'disabled' else None
    return ['the build has %s %s, and the recipe not' % (name, value) for name, value in values.items()
            if value != 'auto' and (value == 'enabled') != (name in chosen)]


def needs_differ(build, recipe):
    """What the build found and the recipe does not name, and the other way round."""
    names = {name: recipe_of for layer in ORIGINS.values() for recipe_of, known in layer.items() for name in known}
    found = {entry['name'] for entry in introspect(build, 'dependencies')} - NOT_ASKED
    wanted = {need for need in needs_of(recipe) if not need.endswith('-native')}
    lines = ['the build needs %s, of which nobody knows a recipe' % name for name in sorted(found - set(names))]
    # A feature that the recipe switches off and the build found by itself.
    extra = {need for name, (_, _, needs) in rows(recipe).items() for need in needs if name not in recipe.words('PACKAGECONFIG')} - wanted
    used = {names[name] for name in found & set(names)} - extra
    lines += ['the build needs %s, which the recipe does not name' % name for name in sorted(used - wanted)]
    return lines + ['the recipe names %s, which the build does not need' % name for name in sorted(wanted - used)]


def recipe_options(recipe):
    return [on if name in recipe.words('PACKAGECONFIG') else off for name, (on, off, _) in sorted(rows(recipe).items())]


def buildroot_options(source):
    """With all that its menu offers and Debian 12 has: GStreamer's analytics came later."""
    with open(os.path.join(source, 'packaging/buildroot/package/gst-dvnn/gst-dvnn.mk'), encoding='utf-8') as file:
        options = dict(re.findall(r'-D(\w+)=(enabled|disabled)', re.sub(r'\nelse\n.*?\nendif', '', file.read(), flags=re.DOTALL)))
    options['analytics'] = 'disabled'
    return ['-D%s=%s' % option for option in sorted(options.items())]


def cross_build(args, options, package):
    """As the class meson of bitbake and the infrastructure of Buildroot call Meson, but for a distribution's flags of compilers. The
    GStreamer of Debian's root names its own folder of plugins, which has the processor's name in it; theirs is below libdir."""
    run('rm', '-rf', args.build)
    run('meson', 'setup', args.build, args.source, '--cross-file', args.cross, '--prefix', '/usr', '--libdir', 'lib', '--buildtype', 'plain',
        '--wrap-mode', 'nodownload', '-Dplugins_dir=/usr/lib/gstreamer-1.0', *options)
    run('ninja', '-C', args.build)
    run('meson', 'install', '-C', args.build, '--no-rebuild', '--destdir', package)


def installed_as(package, prefix, build):
    """{path as on the board: path in Debian} of all files and links."""
    libdir = next(option['value'] for option in introspect(build, 'buildoptions') if option['name'] == 'libdir')
    paths = {}
    for folder, folders, names in os.walk(package):
        for name in names + [name for name in folders if os.path.islink(os.path.join(folder, name))]:
            path = '/usr' + os.path.join(folder, name)[len(package) + len(prefix):]
            paths[path.replace('/usr/%s/' % libdir, '/usr/lib/', 1)] = path.replace('/usr/lib/', '/usr/lib/board/', 1) if libdir == 'lib' else path
    return paths


def matches(path, pattern):
    """As bitbake: a pattern that names a folder has all that is in it."""
    while path != '/':
        if fnmatch.fnmatchcase(path, pattern):
            return True
        path = os.path.dirname(path)
    return False


def packaged(recipe, paths):
    """Problems; each path has to belong to one package."""
    problems, empty = [], set(recipe.words('PACKAGES')) - MAY_BE_EMPTY
    debian = {name: read_install(recipe, name) for name in DEBIAN}
    for path, in_debian in sorted(paths.items()):
        owners = [name for name in recipe.words('PACKAGES') if any(matches(path, pattern) for pattern in recipe.words('FILES:' + name))]
        print('%-28s %s' % (' '.join(owners), path))
        empty -= set(owners)
        if len(owners) != 1:
            problems.append('%s belongs to %d packages: %s' % (path, len(owners), ' '.join(owners)))
        elif not any(matches(in_debian, '/' + pattern) for pattern in debian[owners[0]]):
            problems.append('%s is in %s, and in Debian not in %s' % (path, owners[0], DEBIAN[owners[0]]))
    return problems + ['%s is empty' % name for name in sorted(empty)]


def read_install(recipe, name):
    source = recipe.path[:recipe.path.index('/packaging/')]
    with open(os.path.join(source, 'debian', DEBIAN[name] + '.install'), encoding='utf-8') as file:
        return file.read().split()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('source')
    parser.add_argument('build')
    parser.add_argument('--prefix', default='/usr/local')
    parser.add_argument('--objects')
    parser.add_argument('--cross')
    parser.add_argument('--buildroot', action='store_true')
    args = parser.parse_args()
    if os.environ.get('DVNN_TEST_ROUNDS'):
        print('skipped: another run of CI builds this')
        return 77
    problems = []
    with tempfile.TemporaryDirectory() as package:
        if args.cross:
            options = buildroot_options(args.source) if args.buildroot else recipe_options(the_recipe(args.source, 'scarthgap'))
            print(' '.join(options))
            cross_build(args, options, package)
            args.prefix = '/usr'
        else:
            check_board.build(args, package)
        analytics = {entry['name'] for entry in introspect(args.build, 'dependencies')} & {'gstreamer-analytics-1.0'}
        # A machine with the older GStreamer is as the older release, the other as the newer.
        recipe = the_recipe(args.source, 'wrynose' if analytics else 'scarthgap')
        paths = installed_as(package, args.prefix, args.build)
        if args.buildroot:
            # Buildroot has no packages of a package: each file is one that a board or a compiler needs.
            problems += [problem for problem in packaged(recipe, paths) if not problem.endswith(' is empty')]
        else:
            problems += options_differ(args.build, recipe, meson_options(args.source)[0])
            problems += needs_differ(args.build, recipe)
            for series in SERIES:
                print('%s:' % series)
                problems += packaged(the_recipe(args.source, series), paths)
    for problem in problems:
        print('FAILED: ' + problem)
    return 1 if problems else 0


if __name__ == '__main__':
    sys.exit(main())
