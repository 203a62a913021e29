#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/release refuses what is no release, in a small clone in which nothing is built; scripts/sbom tells what two
small packages link.

Argument: SOURCE, the root of the sources.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

try:
    import debian.deb822
    import jsonschema
except ImportError:
    print('skipped: python3-debian and python3-jsonschema are needed')
    sys.exit(77)
if not shutil.which('git') or not shutil.which('dpkg-parsechangelog'):
    print('skipped: git and dpkg-dev are needed')
    sys.exit(77)
SOURCE = os.path.abspath(sys.argv[1])
RELEASED = '## 1.2.3 (2030-01-31)\n'
# What the first steps read, by what says version 1.2.3 there.
FILES = {
    'meson.build': "project('gst-dvnn', 'cpp',\n  version: '1.2.3',\n  license: 'Apache-2.0')\n",
    'CHANGELOG.md': '# Changes\n\n' + RELEASED,
    'debian/changelog': 'gst-dvnn (1.2.3) unstable; urgency=medium\n\n  * All.\n\n -- A <a@example.org>  Thu, 31 Jan 2030 12:00:00 +0000\n',
    'debian/libdmp-network0.symbols': 'libdmp_network.so.0 libdmp-network0 #MINVER#\n (symver)DMP_NETWORK_PRIVATE_1.2.3 0.1.0~\n',
    'packaging/buildroot/package/gst-dvnn/gst-dvnn.mk': 'GST_DVNN_VERSION = 1.2.3\n',
    'packaging/yocto/meta-dvnn/recipes-multimedia/gst-dvnn/gst-dvnn_git.bb': 'PV = "1.2.3+git"\n',
    '.gitignore': '/out/\n'}
# Of SPDX 2.3's schema what our documents use; nothing else is allowed in them.
TEXT = {'type': 'string', 'minLength': 1}
IDENTIFIER = {'type': 'string', 'pattern': r'^SPDXRef-[A-Za-z0-9.-]+$'}
EXPRESSION = {'type': 'string', 'pattern': r'^(NOASSERTION|[A-Za-z0-9.-]+( (AND|OR) [A-Za-z0-9.-]+)*)$'}


def record(required, **others):
    return {'type': 'object', 'properties': {**required, **others}, 'required': sorted(required), 'additionalProperties': False}


def several(item):
    return {'type': 'array', 'items': item, 'minItems': 1}


SCHEMA = record({
    'spdxVersion': {'const': 'SPDX-2.3'}, 'dataLicense': {'const': 'CC0-1.0'}, 'SPDXID': {'const': 'SPDXRef-DOCUMENT'}, 'name': TEXT,
    'documentNamespace': {'type': 'string', 'pattern': '^https://[^#]+$'},
    'creationInfo': record({'created': {'type': 'string', 'pattern': r'^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$'},
                            'creators': several({'type': 'string', 'pattern': '^(Person|Organization|Tool): '})}),
    'packages': several(record(
        {'SPDXID': IDENTIFIER, 'name': TEXT, 'versionInfo': TEXT, 'downloadLocation': TEXT, 'filesAnalyzed': {'const': False},
         'licenseConcluded': EXPRESSION, 'licenseDeclared': EXPRESSION, 'licenseComments': TEXT, 'copyrightText': TEXT,
         'externalRefs': several(record({'referenceCategory': {'const': 'PACKAGE-MANAGER'}, 'referenceType': {'const': 'purl'},
                                         'referenceLocator': {'type': 'string', 'pattern': r'^pkg:deb/debian/[a-z0-9.+-]+@[^?]+\?arch='}}))},
        supplier=TEXT, packageFileName=TEXT,
        checksums=several(record({'algorithm': {'const': 'SHA256'}, 'checksumValue': {'type': 'string', 'pattern': '^[0-9a-f]{64}$'}})))),
    'relationships': several(record(
        {'spdxElementId': IDENTIFIER, 'relatedSpdxElement': IDENTIFIER,
         'relationshipType': {'enum': ['DESCRIBES', 'GENERATED_FROM', 'DEPENDS_ON', 'BUILD_DEPENDENCY_OF']}}, comment=TEXT))})

problems = []


def require(truth, text):
    if not truth:
        problems.append(text)


def write(path, text):
    os.makedirs(os.path.dirname(path) or '.', exist_ok=True)
    with open(path, 'w', encoding='utf-8') as file:
        file.write(text)


def run(*command, **options):
    return subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, **options)


def git(*arguments):
    subprocess.run(['git', '-c', 'user.name=A', '-c', 'user.email=a@example.org', *arguments], check=True, stdout=subprocess.DEVNULL)


def commit(**changed):
    """Commits the files of a release, with these texts replaced by others: FILE=(TEXT, OTHER)."""
    for name, text in FILES.items():
        write(name, text)
    for name, (text, other) in changed.items():
        require(text in FILES[name], '%s has no %r' % (name, text))
        write(name, FILES[name].replace(text, other))
    git('add', '-A')
    git('commit', '-q', '--allow-empty', '-m', 'All')


def check_refusal(step, sentence):
    """A release stops at this step, with this sentence; all steps before it held."""
    done = run('scripts/release', '1.2.3')
    last = done.stdout.splitlines()[-1]
    require(done.returncode == 1 and re.match(r'%s +NOT SO +\d+ s  %s' % (step, sentence), last),
            'release stops with %d and %r, not at %s with %r' % (done.returncode, done.stdout, step, sentence))


def check_release():
    os.makedirs('clone/scripts')
    os.chdir('clone')
    shutil.copy(os.path.join(SOURCE, 'scripts', 'release'), 'scripts')
    git('init', '-q')
    commit()
    listed = run('scripts/release', '--list')
    steps = [line.split()[0] for line in listed.stdout.splitlines()]
    require(listed.returncode == 0 and steps[:3] == ['tree', 'version', 'changelog'] and steps[-1] == 'sums' and len(set(steps)) == len(steps) > 20,
            'release --list says %r' % listed.stdout)
    for wrong in ([], ['1.2'], ['1.2.3', '--only', 'nothing'], ['1.2.3', '--sometimes'], ['1.2.3', '--from']):
        done = run('scripts/release', *wrong)
        require(done.returncode == 2 and done.stdout.count('\n') == 1, 'release %s ends with %d and %r' % (wrong, done.returncode, done.stdout))

    write('scripts/new', '')
    check_refusal('tree', r'The tree is not clean: \?\? scripts/new\.')
    os.remove('scripts/new')
    write('meson.build', '')
    check_refusal('tree', 'The tree is not clean: +M meson.build')
    for name in FILES:
        if '1.2.3' in FILES[name] and name != 'CHANGELOG.md':
            commit(**{name: ('1.2.3', '1.2.4')})
            check_refusal('version', r"%s says version '1\.2\.4', not 1\.2\.3\." % name)
    for heading in ('## 1.2.3 (not released yet)\n', '## 1.2.3\n', '## 1.2.4 (2030-01-31)\n', '## Soon\n\n' + RELEASED):
        commit(**{'CHANGELOG.md': (RELEASED, heading)})
        check_refusal('changelog', "CHANGELOG.md begins with '%s'" % re.escape(heading.splitlines()[0]))
    commit(**{'CHANGELOG.md': ('01-31', '02-01')})
    check_refusal('changelog', r'debian/changelog is dated Thu, 31 Jan 2030 12:00:00 \+0000, CHANGELOG.md 2030-02-01')

    commit()
    held = run('scripts/release', '1.2.3', '--only', 'changelog')
    require(held.returncode == 0 and 'held' in held.stdout and '2030-01-31' in held.stdout and 'All holds' not in held.stdout,
            'release --only changelog ends with %d and %r' % (held.returncode, held.stdout))
    # What held at this commit is not done again, unless that is asked for.
    write('out/release-1.2.3/held/version', run('git', 'rev-parse', 'HEAD').stdout + 'as before\n')
    resumed = run('scripts/release', '1.2.3')
    require('version          held      before  as before' in resumed.stdout, 'release does not resume: %r' % resumed.stdout)
    again = run('scripts/release', '1.2.3', '--from', 'version')
    require('as before' not in again.stdout, 'release --from does not begin again: %r' % again.stdout)
    git('commit', '-q', '--allow-empty', '-m', 'More')
    write('out/release-1.2.3/held/version', 'another commit\nas before\n')
    require('as before' not in run('scripts/release', '1.2.3').stdout, 'what held at another commit is believed')
    git('tag', 'v1.2.2')
    last = run('scripts/release', '1.2.3', '--only', 'upgrade')
    require(last.returncode == 1 and 'There is a release v1.2.2: name the folder of its files' in last.stdout, 'the last release is forgotten: %r' % last.stdout)
    for step in ('sbom', 'sums'):
        empty = run('scripts/release', '1.2.3', '--only', step)
        require(empty.returncode == 1 and 'NOT SO' in empty.stdout and '  There are no packages: the steps package-* make them.' in empty.stdout,
                'nothing goes through %s: %r' % (step, empty.stdout))
    # What one of CI's runs says of itself, and whether the release goes on.
    for said, held in (('3 passed, 0 failed, 1 skipped, in 9 s', True), ('skipped, what it needs cannot be had here, in 1 s', False),
                       ('left out, 10 s are left and it would take about 20 s here', False)):
        write('.ci/run', '#!/bin/sh\necho "tests/run --armhf build-armhf: %s"\necho "3 passed, 0 failed, 1 skipped"\n' % said)
        os.chmod('.ci/run', 0o755)
        tests = run('scripts/release', '1.2.3', '--only', 'tests')
        require(tests.returncode == (0 if held else 1) and ('NOT SO' in tests.stdout) != held and
                (held or said in tests.stdout.splitlines()[-1]), 'a run of CI says %r, and release %r' % (said, tests.stdout))
    # A command that fails ends its step.
    os.makedirs('out/release-1.2.3/packages/deb12-amd64')
    os.symlink('nowhere', 'out/release-1.2.3/packages/deb12-amd64/a.deb')
    failed = run('scripts/release', '1.2.3', '--only', 'sums')
    require(failed.returncode == 1 and 'It ended with 1. Log: out/release-1.2.3/logs/sums' in failed.stdout, 'what is not there is summed up: %r' % failed.stdout)
    os.chdir('..')


def check_pipes():
    """No script takes for a failure that grep -q, having seen enough, ends what still writes to it (pipefail)."""
    for folder, _, names in os.walk(SOURCE):
        parts = os.path.relpath(folder, SOURCE).split(os.sep)
        if parts[0] == '.git' or parts[0] == 'out' or parts[0].startswith('build'):
            continue
        for name in names:
            path = os.path.join(folder, name)
            if os.path.islink(path) or os.path.getsize(path) > 100000:
                continue
            with open(path, 'rb') as file:
                text = file.read()
            if text.startswith(b'#!') and b'bash' in text[:30] and b'pipefail' in text:
                require(not re.search(rb'\| *grep -\w*q', text), "%s pipes into grep -q: 'grep ... >/dev/null' reads all" % path)


def check_proofs():
    """Each proof that tests/proof lists is there, and what is none is refused."""
    proof = os.path.join(SOURCE, 'tests', 'proof')
    with open(proof, encoding='utf-8') as file:
        there = re.findall(r'^prove_(\w+)\(\)', file.read(), re.M)
    rows = [line.split(None, 2) for line in run(proof, '--list').stdout.splitlines()]
    require([row[0] for row in rows] == there and len(there) > 8, 'tests/proof lists %s and has %s' % (rows, there))
    require(all(len(row) == 3 and re.match(r'\d+$|all$', row[1]) for row in rows), 'tests/proof lists %s' % rows)
    for wrong in ([], ['nothing'], ['soak', 'long'], ['calls', '7']):
        done = run(proof, *wrong, cwd=os.getcwd())
        require(done.returncode == 2, 'proof %s ends with %d and %r' % (wrong, done.returncode, done.stdout))


def make_package(name, depends):
    write('%s/DEBIAN/control' % name, 'Package: %s\nVersion: 1:1.2.3+x~deb12\nArchitecture: amd64\nMaintainer: A <a@example.org>\n%sDescription: none\n' %
          (name, 'Depends: %s\n' % depends if depends else ''))
    subprocess.run(['dpkg-deb', '--root-owner-group', '-b', name, 'packages/%s_amd64.deb' % name], check=True, stdout=subprocess.DEVNULL)


def copyright_of(name, text):
    write('root/usr/share/doc/%s/copyright' % name, text)


def check_sbom():
    machine = 'Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n\n'
    stanza = 'Files: %s\nCopyright: A\nLicense: %s\n\n'
    os.makedirs('packages')
    make_package('dvnet', 'libdmp-network0 (= 1:1.2.3+x~deb12), libone1 (>= 2), other | libtwo (>= 1), python3')
    make_package('libdmp-network0', '')
    make_package('dvnet-dbgsym', 'libmissing9')
    write('packages/a.buildinfo', 'Format: 1.0\nSource: gst-dvnn\nArchitecture: all amd64\nVersion: 1:1.2.3+x~deb12\n'
          'Installed-Build-Depends:\n libeigen3-dev (= 3.4),\n libone1 (= 2:2.0-1+b1),\n libtwo (= 1.0)\n')
    write('packages/a.changes', 'Format: 1.8\nDate: Thu, 31 Jan 2030 13:00:00 +0100\nSource: gst-dvnn\n')
    copyright_of('libone1', machine + stanza % ('*', 'LGPL-2.1+ or MPL-2') + stanza % ('test/*', 'Beerware'))
    copyright_of('libtwo', 'This is free.\n')
    copyright_of('libeigen3-dev', machine + stanza % ('*', 'Expat and Zlib or ISC') + stanza % ('a', 'Unheard-of'))
    sbom = [os.path.join(SOURCE, 'scripts', 'sbom'), 'packages', 'root']
    made = run(*sbom)
    require(made.returncode == 0, 'sbom ends with %d and %s' % (made.returncode, made.stdout))
    if made.returncode:
        return
    document = json.loads(made.stdout)
    for error in jsonschema.Draft7Validator(SCHEMA).iter_errors(document):
        problems.append('sbom: %s at %s' % (error.message, list(error.absolute_path)))
    by_id = {one['SPDXID']: one for one in document['packages']}
    require(len(by_id) == len(document['packages']) == 6, 'sbom has %s' % sorted(by_id))
    relations = {(one['spdxElementId'], one['relationshipType'], one['relatedSpdxElement']) for one in document['relationships']}
    require(all(name in by_id or name == 'SPDXRef-DOCUMENT' for one, _, other in relations for name in (one, other)), 'sbom relates to what is not there')
    depends = {(one[8:], other[8:]) for one, kind, other in relations if kind == 'DEPENDS_ON'}
    require(depends == {('dvnet', 'libdmp-network0'), ('dvnet', 'libone1'), ('dvnet', 'libtwo')}, 'sbom says that these depend: %s' % depends)
    require(('SPDXRef-libeigen3-dev', 'BUILD_DEPENDENCY_OF', 'SPDXRef-gst-dvnn') in relations, 'sbom does not say whose headers are compiled in')
    require(document['creationInfo']['created'] == '2030-01-31T12:00:00Z', 'sbom has another time than the packages')
    one = by_id.get('SPDXRef-libone1', {})
    require(one.get('licenseDeclared') == 'LGPL-2.1-or-later OR MPL-2.0' and 'Beerware' in one['licenseComments'] and one['versionInfo'] == '2:2.0-1+b1',
            'sbom says of libone1: %s' % one)
    require('@2%3A2.0-1%2Bb1?' in str(one.get('externalRefs')), 'sbom has another address: %s' % one)
    require({by_id['SPDXRef-' + name]['licenseDeclared'] for name in ('libtwo', 'libeigen3-dev')} == {'NOASSERTION'}, 'sbom invents a licence')
    require(run(*sbom).stdout == made.stdout, 'sbom is another one each time')
    make_package('dvnet', 'libmissing9')
    missing = run(*sbom)
    require(missing.returncode == 1 and 'libmissing9, which was not there' in missing.stdout, 'sbom says of what is missing: %s' % missing.stdout)


with tempfile.TemporaryDirectory() as work:
    os.chdir(work)
    check_release()
    check_sbom()
    check_pipes()
    check_proofs()
    os.chdir('/')
print('\n'.join(problems) or 'as it should be')
sys.exit(1 if problems else 0)
