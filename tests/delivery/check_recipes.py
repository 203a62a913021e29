#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Recipes of peers rot: options are renamed, licences change, nobody builds them for a year. This reads ours, for Yocto and
for Buildroot, and fails where they disagree with meson_options.txt, with the licence or with each other, or break the rules
of style that the layers' own checkers have.

Argument: SOURCE, the root of the sources.
"""
import glob
import hashlib
import os
import re
import sys

from bitbake_text import NotUnderstood, Recipe

SERIES = ['scarthgap', 'wrynose']
# What a release and a machine set.
GIVEN = {series: {'LAYERSERIES_CORENAMES': series, 'MACHINE_FEATURES': 'qemu-usermode dmp-dv', 'PACKAGE_BEFORE_PN': ''} for series in SERIES}
GIVEN['wrynose']['UNPACKDIR'] = '/unpacked'
LAYERS = {'core': 'oe-core', 'openembedded-layer': 'meta-oe', 'networking-layer': 'meta-networking'}
# Recipes that ours are built with, by layer; and the names that pkg-config knows them by.
ORIGINS = {
    'oe-core': {'cairo': ['cairo'], 'curl': ['libcurl'], 'gdk-pixbuf': ['gdk-pixbuf-2.0'], 'glib-2.0': ['glib-2.0', 'gio-2.0'], 'gobject-introspection': ['gobject-introspection-1.0'],
                'gstreamer1.0': ['gstreamer-1.0', 'gstreamer-base-1.0'], 'gstreamer1.0-plugins-bad': ['gstreamer-analytics-1.0'],
                'gstreamer1.0-plugins-base': ['gstreamer-video-1.0', 'gstreamer-allocators-1.0', 'gstreamer-audio-1.0'], 'jpeg': ['libjpeg'],
                'libcheck': ['check'], 'libseccomp': ['libseccomp'], 'pango': ['pangocairo'], 'qemu': [], 'zlib': ['zlib']},
    'meta-oe': {'flatbuffers': ['flatbuffers'], 'hdf5': ['hdf5-serial'], 'highway': ['libhwy'], 'libeigen': ['eigen3'], 'librdkafka': ['rdkafka'], 'libzip': ['libzip'],
                'nlohmann-json': ['nlohmann_json'], 'opencv': ['opencv4'], 'protobuf': ['protobuf'], 'zbar': ['zbar']},
    'meta-networking': {'mosquitto': ['libmosquitto']},
}
CLASSES = {'meson', 'pkgconfig', 'bash-completion', 'features_check', 'packagegroup', 'core-image'}
# Packages of others that ours need while they run.
RUNTIME = {'gstreamer1.0', 'gstreamer1.0-plugins-base', 'gstreamer1.0-plugins-good', 'liberation-fonts'}
VARIABLES = set('''
    APPEND BBFILES BBFILE_COLLECTIONS BBFILE_PATTERN_dvnn BBFILE_PRIORITY_dvnn BBPATH CONFLICT_DISTRO_FEATURES DEPENDS DESCRIPTION
    FILES FILESEXTRAPATHS HOMEPAGE IMAGE_FEATURES IMAGE_INSTALL INSANE_SKIP LAYERDEPENDS_dvnn LAYERSERIES_COMPAT_dvnn LAYERVERSION_dvnn
    LICENSE LIC_FILES_CHKSUM PACKAGECONFIG PACKAGE_BEFORE_PN PV RDEPENDS REQUIRED_DISTRO_FEATURES REQUIRED_MACHINE_FEATURES RRECOMMENDS
    S SECTION SRCREV SRC_URI SUMMARY'''.split())
OLD_OVERRIDE = re.compile(r'^[A-Z_]+_(append|prepend|remove|\$\{PN\})', re.MULTILINE)

problems = []


def require(truth, path, text):
    if not truth:
        problems.append('%s: %s' % (path, text))


def read(*path):
    with open(os.path.join(*path), encoding='utf-8') as file:
        return file.read()


def meson_options(source):
    """(features, other options) of meson_options.txt."""
    found = re.findall(r"^option\('(\w+)', type: '(\w+)'", read(source, 'meson_options.txt'), re.MULTILINE)
    return {name for name, kind in found if kind == 'feature'}, {name for name, kind in found if kind != 'feature'}


def check_text(path):
    text = read(path)
    require('\t' not in text or path.endswith('.mk') or '/buildroot/' in path, path, 'has tabs')
    require(not re.search(r'[ \t]$', text, re.MULTILINE), path, 'has blanks at the end of a line')
    require(text.endswith('\n') and not text.endswith('\n\n'), path, 'does not end in one line feed')
    require(not OLD_OVERRIDE.search(text), path, 'has overrides in the syntax of before 3.4: VARIABLE_append')
    return text


def check_names(recipe, packages):
    for number, name, flag in recipe.names:
        stem, _, override = recipe.expand(name).partition(':')
        known = stem in VARIABLES or stem.startswith('DVNN_')
        require(known, recipe.path, 'line %d: nobody reads %s' % (number, stem))
        fits = not override or override in ('append', 'prepend', 'remove') or override in packages
        require(fits, recipe.path, 'line %d: %s is no package and no operation' % (number, override))
        require(not flag or stem == 'PACKAGECONFIG', recipe.path, 'line %d: flag %s' % (number, flag))


def origin(name):
    stem = re.sub('-native$', '', name)
    return next((layer for layer, recipes in ORIGINS.items() if stem in recipes), None)


def check_description(recipe):
    summary, description = recipe.get('SUMMARY'), recipe.get('DESCRIPTION')
    summaries = [summary] + [recipe.get(recipe.expand(name)) for _, name, _ in recipe.names if name.startswith('SUMMARY:')]
    for text in summaries:
        require(0 < len(text) <= 72 and not text.endswith('.'), recipe.path, 'a summary has 1 to 72 letters and no full stop: %r' % text)
    require(len(description) > len(summary), recipe.path, 'DESCRIPTION says no more than SUMMARY')
    require(recipe.get('LICENSE') == 'Apache-2.0', recipe.path, 'LICENSE is that of LICENSE, Apache-2.0')


def rows(recipe):
    """Of PACKAGECONFIG: {feature: (option if on, option if off, dependencies)}."""
    found = {}
    for name, row in recipe.flags.get('PACKAGECONFIG', {}).items():
        cells = [cell.strip() for cell in row.split(',')] + ['', '']
        found[name] = cells[0], cells[1], cells[2].split()
        require(len(cells) <= 5, recipe.path, 'PACKAGECONFIG[%s] has more than three cells' % name)
    return found


def check_features(recipe, features, text):
    table = rows(recipe)
    for name in sorted(features ^ set(table)):
        require(False, recipe.path, 'PACKAGECONFIG[%s] %s' % (name, 'is missing' if name in features else 'is no feature of meson_options.txt'))
    for name, (on, off, _) in table.items():
        require((on, off) == ('-D%s=enabled' % name, '-D%s=disabled' % name), recipe.path, 'PACKAGECONFIG[%s] sets other options' % name)
    chosen = recipe.words('PACKAGECONFIG')
    for name in chosen:
        require(name in table, recipe.path, 'PACKAGECONFIG names %s, which has no row' % name)
    # What is off says why.
    reasons = {name for line in re.findall(r'^# - ([\w, ]+):', text, re.MULTILINE) for name in line.split(', ')}
    for name in sorted(set(table) - set(chosen) - reasons):
        require(False, recipe.path, '%s is off, and no comment says why' % name)


def needs_of(recipe):
    table = rows(recipe)
    return set(recipe.words('DEPENDS')).union(*(table[name][2] for name in recipe.words('PACKAGECONFIG') if name in table))


def check_needs(recipe, layers):
    every = set(recipe.words('DEPENDS')).union(*(needs for _, _, needs in rows(recipe).values()))
    for name in sorted(every):
        layer = origin(name)
        require(layer, recipe.path, 'nobody knows which layer has %s' % name)
        require(layer is None or layer in layers, recipe.path, '%s is in %s, which LAYERDEPENDS does not name' % (name, layer))
    for name in recipe.inherited:
        require(name in CLASSES, recipe.path, 'inherits %s' % name)


def check_licence(recipe, source):
    sums = re.findall(r'file://([^;\s]+);md5=([0-9a-f]+)', recipe.get('LIC_FILES_CHKSUM'))
    require(len(sums) == 1, recipe.path, 'LIC_FILES_CHKSUM names %d files' % len(sums))
    for name, md5 in sums:
        with open(os.path.join(source, name), 'rb') as file:
            real = hashlib.md5(file.read()).hexdigest()
        require(md5 == real, recipe.path, 'LIC_FILES_CHKSUM says %s of %s, which has %s' % (md5, name, real))
    version = re.search(r"version: '([\d.]+)'", read(source, 'meson.build'))[1]
    require(recipe.get('PV').split('+')[0] == version, recipe.path, 'PV is not the version of meson.build, %s' % version)
    for name in ('S', 'PACKAGES', 'PACKAGECONFIG'):
        require('${' not in recipe.get(name), recipe.path, '%s cannot be computed: %s' % (name, recipe.get(name)))
    for name in re.findall(r'\$\{S\}/([\w./-]+)', ' '.join(line for body in recipe.functions.values() for line in body)):
        require(os.path.exists(os.path.join(source, name)), recipe.path, 'installs %s, which is not there' % name)
    for uri in recipe.words('SRC_URI'):
        require('protocol=file' in uri, recipe.path, 'fetches %s from a network' % uri)


def check_runtime(recipe, ours):
    for name in {key for key in recipe.values if re.match('R(DEPENDS|RECOMMENDS):', key)}:
        for package in recipe.words(name):
            require(package in ours | RUNTIME, recipe.path, '%s names %s, which is not known' % (name, package))


def the_recipe(source, series, **given):
    path = os.path.join(source, 'packaging/yocto/meta-dvnn/recipes-multimedia/gst-dvnn/gst-dvnn_git.bb')
    return Recipe(path, **{**GIVEN[series], **given})


def check_layer(source):
    layer = os.path.join(source, 'packaging/yocto/meta-dvnn')
    conf = Recipe(os.path.join(layer, 'conf/layer.conf'))
    require(conf.words('LAYERSERIES_COMPAT_dvnn') == SERIES, conf.path, 'LAYERSERIES_COMPAT is not %s' % ' '.join(SERIES))
    require(os.path.samefile(conf.get('DVNN_REPOSITORY'), source), conf.path, 'DVNN_REPOSITORY is another folder than the tree')
    unknown = set(conf.words('LAYERDEPENDS_dvnn')) - set(LAYERS)
    require(not unknown, conf.path, 'LAYERDEPENDS names %s' % ' '.join(unknown))
    layers = {LAYERS.get(name) for name in conf.words('LAYERDEPENDS_dvnn')}
    check_names(conf, set())
    check_text(conf.path)
    packages = set()
    for series in SERIES:
        packages |= set(the_recipe(source, series).words('PACKAGES'))
    packages.add('packagegroup-dvnn')
    for path in sorted(glob.glob(layer + '/recipes-*/**/*.*', recursive=True)):
        text = check_text(path)
        if path.endswith('.cfg'):
            lines = re.sub(r'^#.*\n', '', text, flags=re.MULTILINE)
            require(re.fullmatch(r'(CONFIG_\w+=(y|m|\d+)\n)+', lines), path, 'is no list of CONFIG_NAME=VALUE')
            continue
        recipes = [Recipe(path, **GIVEN[series]) for series in SERIES]
        for recipe in recipes:
            check_names(recipe, packages)
            check_runtime(recipe, packages)
            for name in recipe.required:
                name = recipe.expand(name)
                there = any(os.path.exists(os.path.join(folder, name)) for folder in (layer, os.path.dirname(path)))
                require(there, path, 'requires %s, which is not there' % name)
        if path.endswith('.bb'):
            check_description(recipes[0])
            check_needs(recipes[0], layers)
        for recipe in recipes:
            if recipe.words('PACKAGECONFIG'):
                check_features(recipe, meson_options(source)[0], text)
                check_licence(recipe, source)


def check_options(source, text, path):
    """Any option that is set exists."""
    features, others = meson_options(source)
    for name in sorted(set(re.findall(r'-D(\w+)=', text)) - features - others):
        require(False, path, 'sets -D%s, which is no option of meson_options.txt' % name)


def check_buildroot(source):
    tree = os.path.join(source, 'packaging/buildroot')
    package = os.path.join(tree, 'package/gst-dvnn')
    make, config, hashes = (check_text(os.path.join(package, name)) for name in ('gst-dvnn.mk', 'Config.in', 'gst-dvnn.hash'))
    check_options(source, make, package)
    for name in sorted(meson_options(source)[0]):
        on, off = make.count('-D%s=enabled' % name), make.count('-D%s=disabled' % name)
        require((on, off) in ((1, 1), (0, 1), (1, 0)), package, '-D%s is set %d times: wanted once, or once for each case' % (name, on + off))
    blocks = re.findall(r'^ifeq \(\$\((BR2_PACKAGE_GST_DVNN_(\w+))\),y\)\n(.*?)^else\n(.*?)^endif\n', make, re.MULTILINE | re.DOTALL)
    require(len(blocks) == make.count('ifeq'), package, 'gst-dvnn.mk has conditions that are not understood')
    for symbol, name, on, off in blocks:
        name = name.lower()
        require('-D%s=enabled' % name in on and '-D%s=disabled' % name in off, package, '%s sets another option' % symbol)
        require('config %s\n' % symbol in config, package, 'Config.in has no %s' % symbol)
    shown = set(re.findall(r'^config BR2_PACKAGE_GST_DVNN_(\w+)\n\tbool "', config, re.MULTILINE))
    for name in sorted(shown - {name for _, name, _, _ in blocks}):
        require(False, package, 'gst-dvnn.mk does not read BR2_PACKAGE_GST_DVNN_%s' % name)
    # What is linked with is built before, and selected.
    for words in re.findall(r'^GST_DVNN_DEPENDENCIES \+?= (.*)$', make.replace('\\\n', ' '), re.MULTILINE):
        for name in words.split():
            symbol = 'BR2_PACKAGE_' + name.upper().replace('-', '_')
            require(name.startswith('host-') or symbol in config, package, 'Config.in selects no %s' % symbol)
    with open(os.path.join(source, 'LICENSE'), 'rb') as file:
        real = hashlib.sha256(file.read()).hexdigest()
    require(re.search(r'^sha256  %s  LICENSE$' % real, hashes, re.MULTILINE), package, 'gst-dvnn.hash has another sum of LICENSE, %s' % real)
    description = check_text(os.path.join(tree, 'external.desc'))
    require(re.fullmatch(r'name: DVNN\ndesc: .+\n', description), tree, 'external.desc has no name and description')
    for name, path in (('external.mk', 'package/*/*.mk'), ('Config.in', 'package/gst-dvnn/Config.in')):
        require('$(BR2_EXTERNAL_DVNN_PATH)/' in check_text(os.path.join(tree, name)).replace('$BR2_EXTERNAL_DVNN_PATH', '$(BR2_EXTERNAL_DVNN_PATH)'),
                tree, '%s includes no %s' % (name, path))


def main():
    source = sys.argv[1]
    try:
        check_layer(source)
        check_buildroot(source)
    except NotUnderstood as why:
        problems.append('not understood, so not checked: %s' % why)
    for problem in sorted(set(problems)):
        print('FAILED: ' + os.path.relpath(problem, source))
    return 1 if problems else 0


if __name__ == '__main__':
    sys.exit(main())
