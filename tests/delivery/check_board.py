#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Builds and installs what scripts/board.ini asks for, prints what it needs and how large it is, and fails where either
has grown. Then it runs a pipeline from there, which draws with dvoverlay.

Arguments: SOURCE BUILD, the root of the sources and a folder to build in, which is kept; with --cross FILE the machine
file of another processor, for which nothing is run.
"""
import argparse
import configparser
import os
import re
import subprocess
import sys
import tempfile

# Bytes of all installed files. Code for x86 is the larger one.
LARGEST = {'x86': 10_600_000, 'arm': 6_000_000}
# Of the system, by what needs it. The brokers' libraries and ZBar are there where their features are.
SYSTEM = {'libhwy.so.1', 'libc.so.6', 'libm.so.6', 'libgcc_s.so.1', 'libstdc++.so.6', 'ld-linux-armhf.so.3', 'ld-linux-aarch64.so.1', 'ld-linux-x86-64.so.2'}
GLIB = {'libglib-2.0.so.0', 'libgobject-2.0.so.0', 'libgio-2.0.so.0', 'libgmodule-2.0.so.0'}
GSTREAMER = {'libgstreamer-1.0.so.0', 'libgstbase-1.0.so.0', 'libgstvideo-1.0.so.0', 'libgstallocators-1.0.so.0', 'libgstanalytics-1.0.so.0',
             'libgstaudio-1.0.so.0'}
DRAWING = {'libcairo.so.2', 'libpango-1.0.so.0', 'libpangocairo-1.0.so.0'}
CODES = {'libzbar.so.0'}
BROKERS = {'libmosquitto.so.1', 'librdkafka.so.1', 'libcurl.so.4', 'libcurl-gnutls.so.4', 'libjpeg.so.62'}
OURS = {'libdmp_network.so.0', 'libgstdvnn-1.0.so.0'}
ALLOWED = {
    'libgstdvnn.so': SYSTEM | GLIB | GSTREAMER | DRAWING | CODES | OURS | {'libz.so.1'},
    'libgstdvnnzones.so': SYSTEM | GLIB | GSTREAMER | OURS,
    'libgstdvnnpublish.so': SYSTEM | GLIB | GSTREAMER | OURS | BROKERS | {'libz.so.1'},
    'dvnet': SYSTEM | GLIB | GSTREAMER | OURS | {'libz.so.1'},
    'libdmpdv-soft.so': SYSTEM,
}
OTHERS = SYSTEM | GLIB | GSTREAMER


def run(*command, **options):
    done = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    if done.returncode != 0:
        sys.exit('FAILED: %s\n%s%s' % (' '.join(command), done.stdout[-4000:], done.stderr[-4000:]))
    return done.stdout


def build(args, package):
    files = ['--cross-file', args.cross] if args.cross else []
    files += ['--cross-file' if args.cross else '--native-file', os.path.join(args.source, 'scripts', 'board.ini')]
    if not os.path.exists(os.path.join(args.build, 'build.ninja')):
        run('meson', 'setup', args.build, args.source, *files)
    # Where the build was kept, options that are new since then have their defaults.
    board = configparser.ConfigParser()
    board.read(files[-1])
    options = ['-D%s=%s' % (name, value.strip("'")) for name, value in board['project options'].items()]
    run('meson', 'setup', '--reconfigure', args.build, args.source, '-Dinstruction_sets=native', *options)
    run('ninja', '-C', args.build)
    run('meson', 'install', '-C', args.build, '--no-rebuild', '--destdir', package)


def installed(package):
    """(path, bytes) of each file that is one of its own."""
    for folder, _, names in os.walk(package):
        for path in (os.path.join(folder, name) for name in sorted(names)):
            if not os.path.islink(path):
                yield path, os.path.getsize(path)


def needs(path):
    with open(path, 'rb') as file:
        if file.read(4) != b'\x7fELF':
            return None
    return set(re.findall(r'\(NEEDED\).*\[(.*)\]', run('readelf', '-d', path)))


def draw(package, prefix):
    """A frame that goes through all elements of a usual pipeline and is drawn on."""
    lib = next(folder for folder, _, names in os.walk(package) if 'libdmp_network.so.0' in names)
    env = dict(os.environ, LD_LIBRARY_PATH=lib, GST_PLUGIN_PATH=os.path.join(lib, 'gstreamer-1.0'), DVNN_DEVICE='soft',
               GST_REGISTRY=os.path.join(package, 'registry.bin'), GST_PLUGIN_SYSTEM_PATH=os.environ.get('GST_PLUGIN_SYSTEM_PATH', ''),
               DVNN_SOFT_DEVICE=os.path.join(lib, 'gst-dvnn', 'libdmpdv-soft.so'))
    env.pop('GST_PLUGIN_SYSTEM_PATH') if not env['GST_PLUGIN_SYSTEM_PATH'] else None
    network = os.path.join(package + prefix, 'share', 'gst-dvnn', 'default.dvn')
    run('gst-launch-1.0', '-q', 'videotestsrc', 'num-buffers=3', '!', 'video/x-raw,width=320,height=240', '!', 'dvconvert', '!',
        'dvinfer', 'network=' + network, '!', 'dvdecode', '!', 'dvtrack', '!', 'videoconvert', '!', 'dvoverlay', '!', 'fakesink',
        env=env, timeout=300)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('source')
    parser.add_argument('build')
    parser.add_argument('--prefix', default='/usr/local')
    parser.add_argument('--cross')
    args = parser.parse_args()
    if os.environ.get('DVNN_TEST_ROUNDS'):
        print('skipped: another run of CI builds this')
        return 77
    problems = []
    with tempfile.TemporaryDirectory() as package:
        build(args, package)
        total = 0
        for path, size in installed(package):
            total += size
            needed = needs(path)
            name = os.path.basename(path)
            print('%9d %s %s' % (size, path[len(package):], ' '.join(sorted(needed or ()))))
            stem = re.sub(r'(\.so)[.0-9]*$', r'\1', name)
            more = (needed or set()) - ALLOWED.get(stem, OTHERS)
            if more:
                problems.append('%s needs %s, which a board has to install for it' % (name, ', '.join(sorted(more))))
        most = LARGEST['arm' if args.cross else 'x86']
        print('%9d bytes in all, of %d' % (total, most))
        if total > most:
            problems.append('%d bytes are installed, more than %d' % (total, most))
        if not args.cross:
            draw(package, args.prefix)
    for problem in problems:
        print('FAILED: ' + problem)
    return 1 if problems else 0


if __name__ == '__main__':
    sys.exit(main())
