#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Builds and installs what scripts/board.ini asks for, prints what it needs and how large it is, and fails where either
has grown. Then it runs a pipeline from there, which draws with dvoverlay, and counts its memory.

Arguments: SOURCE BUILD, the root of the sources and a folder to build in, which is kept; with --cross FILE the machine
file of another processor, for which nothing is run. With --objects OTHER a build of the same sources whose objects are taken
where they are the same, which leaves a quarter of the time. Its code is larger, as it is compiled to be tested: so it has a limit of its own.
"""
import argparse
import collections
import configparser
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

# Bytes of what runs (elements, libraries, software device, default network) and of dvnet, by processor, and of a build for
# x86-64 with objects of another one. What runs has a goal on arm64, 6 MB. dvnet there and objects: what they took and 3 %;
# x86-64: what -Og took; arm, which has fewer bytes than arm64: arm64's.
LARGEST = {
    'aarch64': {'runs': 6_000_000, 'tool': 1_900_000},
    'arm': {'runs': 6_000_000, 'tool': 1_900_000},
    'x86_64': {'runs': 7_800_000, 'tool': 2_550_000},
    'objects': {'runs': 9_000_000, 'tool': 2_730_000},
}
# Private memory of a usual pipeline, beyond what GStreamer takes without our elements and beyond the network, which is the
# device's memory: its weights and frames. The software device's own is counted, which a board does not have.
MOST_MEMORY = 20 << 20
WIDTH, HEIGHT = 320, 240
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


def board_options(source):
    board = configparser.ConfigParser()
    board.read(os.path.join(source, 'scripts', 'board.ini'))
    return ['-D%s=%s' % (name, value.strip("'")) for name, value in board['project options'].items()]


def introspect(build, what):
    with open(os.path.join(build, 'meson-info', 'intro-%s.json' % what), encoding='utf-8') as file:
        return json.load(file)


def can_share(other):
    """Whether OTHER is compiled as the limit supposes, and a folder can be put in another's place here."""
    if not other or subprocess.run(['bwrap', '--dev-bind', '/', '/', 'true'], capture_output=True, check=False).returncode != 0:
        return False
    options = {option['name']: option['value'] for option in introspect(other, 'buildoptions')}
    return options['optimization'] == '2' and options['instruction_sets'] == 'all' and not options['debug']


def copy_objects(other, build):
    """Copies what OTHER compiled of the libraries, elements and tools, and Ninja's notes about it, unless that was done since."""
    copied = os.path.join(build, 'copied')
    if os.path.exists(copied) and os.path.getmtime(copied) >= os.path.getmtime(os.path.join(other, '.ninja_log')):
        return
    shutil.rmtree(build, ignore_errors=True)
    os.makedirs(build)
    parts = ['.ninja_log', '.ninja_deps', 'build.ninja', 'meson-info', 'meson-private', 'src', 'gst', 'pipelines']
    run('cp', '-a', *(os.path.join(other, part) for part in parts), build)
    with open(copied, 'w', encoding='utf-8') as file:
        file.write(other)


def build(args, package):
    """Returns the kind of build, which LARGEST knows."""
    options = board_options(args.source)
    if not args.cross and can_share(args.objects):
        copy_objects(args.objects, args.build)
        # Sources' paths are in what is compiled: the copy has to have the place of what it is copied from.
        within = ['bwrap', '--dev-bind', '/', '/', '--bind', args.build, args.objects, '--chdir', args.source]
        place, kind = args.objects, 'objects'
        options += ['-Dcpp_link_args=-Wl,--gc-sections']
    else:
        within, place, kind = [], args.build, 'x86_64'
        files = ['--cross-file', args.cross] if args.cross else []
        files += ['--cross-file' if args.cross else '--native-file', os.path.join(args.source, 'scripts', 'board.ini')]
        if os.path.exists(os.path.join(args.build, 'copied')):
            shutil.rmtree(args.build)
        if not os.path.exists(os.path.join(args.build, 'build.ninja')):
            run('meson', 'setup', args.build, args.source, *files)
        # A cross build asks no processor what it has.
        options += [] if args.cross else ['-Dinstruction_sets=native']
    # Where the build was kept, options that are new since then have their defaults. Dependencies of the other build are none
    # of this one; Meson 1.0 takes arguments of linkers by
    # `configure` alone.
    run(*within, 'meson', 'setup', '--reconfigure', place, args.source)
    run(*within, 'meson', 'configure', place, *options)
    run(*within, 'meson', 'configure', place, '--clearcache')
    run(*within, 'meson', 'setup', '--reconfigure', place, args.source)
    targets = [os.path.relpath(path, place) for target in introspect(args.build, 'targets') if target['installed'] for path in target['filename']]
    run(*within, 'ninja', '-C', place, *targets)
    run(*within, 'meson', 'install', '-C', place, '--no-rebuild', '--strip', '--destdir', package)
    return cpu_family(args.cross) if args.cross else kind


def cpu_family(cross):
    machine = configparser.ConfigParser()
    machine.read(cross)
    return machine['host_machine']['cpu_family'].strip("'")


def installed(package):
    """(path, bytes) of each file that is one of its own."""
    for folder, _, names in os.walk(package):
        for path in (os.path.join(folder, name) for name in sorted(names)):
            if not os.path.islink(path):
                yield path, os.path.getsize(path)


def part_of(path):
    """What a file is for. A board needs no headers."""
    if '/include/' in path or path.endswith('.pc'):
        return 'development'
    return 'tool' if '/bin/' in path or '/man/' in path or '/completions/' in path else 'runs'


def needs(path):
    with open(path, 'rb') as file:
        if file.read(4) != b'\x7fELF':
            return None
    return set(re.findall(r'\(NEEDED\).*\[(.*)\]', run('readelf', '-d', path)))


def environment(package):
    lib = next(folder for folder, _, names in os.walk(package) if 'libdmp_network.so.0' in names)
    env = dict(os.environ, LD_LIBRARY_PATH=lib, GST_PLUGIN_PATH=os.path.join(lib, 'gstreamer-1.0'), DVNN_DEVICE='soft',
               GST_REGISTRY=os.path.join(package, 'registry.bin'), GST_PLUGIN_SYSTEM_PATH=os.environ.get('GST_PLUGIN_SYSTEM_PATH', ''),
               DVNN_SOFT_DEVICE=os.path.join(lib, 'gst-dvnn', 'libdmpdv-soft.so'))
    # Fills memory that is let go, which counts then.
    env.pop('MALLOC_PERTURB_', None)
    env.pop('GST_PLUGIN_SYSTEM_PATH') if not env['GST_PLUGIN_SYSTEM_PATH'] else None
    return env


def private_memory(elements, env, package):
    """Bytes of (its own memory, the device's memory) of a pipeline after some frames, which then waits for who reads them."""
    caps = 'video/x-raw,format=BGRA,width=%d,height=%d' % (WIDTH, HEIGHT)
    pipeline = ['gst-launch-1.0', '-q', 'videotestsrc', '!', caps, '!', *elements, '!', 'videoconvert', '!', caps, '!', 'fdsink', 'fd=1']
    with subprocess.Popen(pipeline, stdout=subprocess.PIPE, env=env) as process:
        try:
            for _ in range(8):
                if len(process.stdout.read(WIDTH * HEIGHT * 4)) < WIDTH * HEIGHT * 4:
                    sys.exit('FAILED: %s ends before its frames' % ' '.join(pipeline))
            with open('/proc/%d/smaps' % process.pid, encoding='utf-8') as file:
                return count_private(file, package)
        finally:
            process.kill()


def count_private(smaps, package):
    """What was written, and what was read of the package's own files. Of the system's libraries who else has them decides whose they
    are. The device's memory is what a forked process would not get ('dc')."""
    ours = os.path.realpath(package) + '/'
    own = device = bytes_here = 0
    name = ''
    for line in smaps:
        mapping = re.match(r'[0-9a-f]+-[0-9a-f]+ \S+ \S+ \S+ \S+ *(.*)', line)
        field = re.match(r'(Private_Dirty|Private_Clean|Shared_Clean): +(\d+) kB', line)
        if mapping:
            name, bytes_here = mapping.group(1), 0
        elif field and (field.group(1) == 'Private_Dirty' or name.startswith(ours)):
            bytes_here += int(field.group(2)) << 10
        elif line.startswith('VmFlags:'):
            if 'dc' in line.split():
                device += bytes_here
            else:
                own += bytes_here
    return own, device


def draw(package, prefix):
    """Frames that go through all elements of a usual pipeline and are drawn on. Returns what is wrong with its memory."""
    env = environment(package)
    network = os.path.join(package + prefix, 'share', 'gst-dvnn', 'default.dvn')
    elements = ['dvconvert', '!', 'dvinfer', 'network=' + network, '!', 'dvdecode', '!', 'dvtrack', '!', 'videoconvert', '!', 'dvoverlay']
    # Frames that are on their way count, which are one or two more or fewer in each run: which made 2 MB.
    without, _ = min(private_memory(['videoconvert'], env, package) for _ in range(5))
    own, device = min(private_memory(elements, env, package) for _ in range(5))
    print('%9d bytes of memory, %d of GStreamer, %d for the network, %d of ours, of %d'
          % (own + device, without, device, own - without, MOST_MEMORY))
    if device == 0 or own <= without:
        return ['its memory cannot be told from the network\'s']
    return [] if own - without <= MOST_MEMORY else ['%d bytes of memory are taken, more than %d' % (own - without, MOST_MEMORY)]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('source')
    parser.add_argument('build')
    parser.add_argument('--prefix', default='/usr/local')
    parser.add_argument('--cross')
    parser.add_argument('--objects')
    args = parser.parse_args()
    if os.environ.get('DVNN_TEST_ROUNDS'):
        print('skipped: another run of CI builds this')
        return 77
    problems = []
    with tempfile.TemporaryDirectory() as package:
        kind = build(args, package)
        sizes = collections.Counter()
        for path, size in installed(package):
            sizes[part_of(path)] += size
            needed = needs(path)
            name = os.path.basename(path)
            print('%9d %s %s' % (size, path[len(package):], ' '.join(sorted(needed or ()))))
            stem = re.sub(r'(\.so)[.0-9]*$', r'\1', name)
            more = (needed or set()) - ALLOWED.get(stem, OTHERS)
            if more:
                problems.append('%s needs %s, which a board has to install for it' % (name, ', '.join(sorted(more))))
        print('%9d bytes in all (%s)' % (sum(sizes.values()), kind))
        for part, most in LARGEST[kind].items():
            print('%9d bytes: %s, of %d' % (sizes[part], part, most))
            if not 0 < sizes[part] <= most:
                problems.append('%s: %d bytes are installed, more than %d' % (part, sizes[part], most))
        if not args.cross:
            problems += draw(package, args.prefix)
    for problem in problems:
        print('FAILED: ' + problem)
    return 1 if problems else 0


if __name__ == '__main__':
    sys.exit(main())
