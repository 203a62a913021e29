#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Reads packaging/container, where nothing here can build it: instructions that exist, a base with a version, files and packages that
are there, a user who is not root, a health check that dvnet understands, and a compose file whose programs, volumes and networks fit.

Arguments: SOURCE DVNET.
"""
import glob
import json
import os
import re
import subprocess
import sys

try:
    import yaml
except ImportError:
    yaml = None

INSTRUCTIONS = {'FROM', 'ARG', 'RUN', 'COPY', 'ENV', 'USER', 'WORKDIR', 'HEALTHCHECK', 'CMD', 'ENTRYPOINT'}
# Of a service in a compose file (compose-spec); others are refused.
SERVICE = {'image': str, 'command': list, 'read_only': bool, 'cap_drop': list, 'security_opt': list, 'tmpfs': list, 'volumes': list,
           'ports': list, 'healthcheck': dict, 'depends_on': dict, 'restart': str}
# Programs of the image by where they come from.
PROGRAMS = {'dvcamera': 'pipelines/camera/dvcamera', 'dvlive': 'pipelines/live/dvlive'}

problems = []


def require(truth, where, text):
    if not truth:
        problems.append('%s: %s' % (where, text))


def instructions(path):
    """(instruction, rest of the line) with continued lines as one."""
    with open(path, encoding='utf-8') as file:
        text = re.sub(r'^ *#.*\n', '', file.read(), flags=re.MULTILINE)
    for line in re.sub(r'\\\n', ' ', text).splitlines():
        if line.strip():
            yield tuple((line.split(None, 1) + [''])[:2])


def debian_packages(source):
    with open(os.path.join(source, 'debian/control'), encoding='utf-8') as file:
        return set(re.findall(r'^Package: (.*)$', file.read(), re.MULTILINE))


def check_run(where, command, packages):
    if 'apt-get install' not in command:
        return
    require('--no-install-recommends' in command, where, 'apt-get installs what is only recommended')
    require(command.index('apt-get update') < command.index('apt-get install'), where, 'apt-get update does not come first')
    require('rm -rf /var/lib/apt/lists' in command, where, 'lists of packages stay in the image')
    mounted = re.match(r'--mount=type=bind,source=(out/\w+),target=(/\w+) ', command)
    require(mounted, where, 'packages are not mounted, but become part of the image')
    for name in re.findall(r'/packages/([\w.+-]+)_\*\.deb', command):
        require(name in packages, where, 'debian/control has no %s' % name)


def check_containerfile(path, source, dvnet):
    where, user, arguments = os.path.basename(path), 'root', {}
    for name, rest in instructions(path):
        require(name in INSTRUCTIONS, where, 'no instruction %s' % name)
        if name == 'ARG':
            arguments.update([rest.replace('"', '').split('=', 1)])
        elif name == 'FROM':
            rest = re.sub(r'\$\{(\w+)\}', lambda m: arguments.get(m[1], ''), rest)
            require(re.fullmatch(r'docker\.io/[\w/-]+:[\w.-]+', rest) and not rest.endswith(':latest'), where, 'FROM %s names no version' % rest)
        elif name == 'COPY':
            for file in rest.split()[:-1]:
                require(glob.glob(os.path.join(source, file)), where, 'COPY %s, which is not there' % file)
        elif name == 'RUN':
            check_run(where, rest, debian_packages(source))
        elif name == 'USER':
            user = rest
        elif name in ('CMD', 'ENTRYPOINT') or 'CMD ' in rest:
            words = json.loads(rest[rest.index('['):])
            if name == 'HEALTHCHECK':
                check_health(where, words, dvnet)
    require(user != 'root', where, 'runs as root')


def check_health(where, words, dvnet):
    require(words[0] == 'dvnet', where, 'the health check starts %s' % words[0])
    known = subprocess.run([dvnet, words[1], '--help'], capture_output=True, text=True, check=False)
    require(known.returncode == 0, where, 'dvnet has no command %s' % words[1])
    for option in words[2:]:
        require(re.search(r'%s\b' % option.split('=')[0], known.stdout), where, 'dvnet %s has no option %s' % (words[1], option))


def check_service(name, service, compose, source):
    where = 'compose.yaml: ' + name
    for field, value in service.items():
        require(field in SERVICE and isinstance(value, SERVICE[field]), where, 'field %s' % field)
    require(service.get('read_only') is True, where, 'writes to its root')
    require(not service['image'].endswith(':latest') and (':' in service['image'] or service['image'] == 'gst-dvnn'), where, 'image without a version')
    for port in service.get('ports', []):
        require(port.startswith('127.0.0.1:'), where, 'port %s is open to everybody' % port)
    for other in service.get('depends_on', {}):
        require(other in compose['services'], where, 'depends on %s, which is no service' % other)
        healthy = service['depends_on'][other]['condition'] == 'service_healthy'
        require(not healthy or 'healthcheck' in compose['services'][other], where, 'waits for the health of %s, which nothing checks' % other)
    for volume in service.get('volumes', []):
        place = volume.split(':')[0]
        there = os.path.exists(os.path.join(source, 'packaging/container', place)) if place.startswith('.') else place in compose['volumes']
        require(there, where, 'no volume or file %s' % place)
    if 'command' in service:
        program, *options = service['command']
        require(program in PROGRAMS, where, 'starts %s' % program)
        known = subprocess.run([sys.executable, os.path.join(source, PROGRAMS[program]), '--help'], capture_output=True, text=True, check=False)
        for option in options:
            require(not option.startswith('--') or option in known.stdout, where, '%s has no option %s' % (program, option))


def check_compose(source):
    if not yaml:
        print('compose.yaml is not read: python3-yaml is not there')
        return
    with open(os.path.join(source, 'packaging/container/compose.yaml'), encoding='utf-8') as file:
        compose = yaml.safe_load(file)
    require(set(compose) == {'services', 'volumes'}, 'compose.yaml', 'has other parts than services and volumes')
    for name, service in compose['services'].items():
        check_service(name, service, compose, source)
    with open(os.path.join(source, 'packaging/container/door.json'), encoding='utf-8') as file:
        camera = json.load(file)
    # The camera writes where volumes are, and to the broker by its service's name.
    folders = [volume.split(':')[1] for volume in compose['services']['camera']['volumes']]
    written = re.findall(r'(?:file:|location=|"spool-folder": ")(/[\w/.-]+)', json.dumps(camera))
    require(len(written) >= 3, 'door.json', 'names no files')
    for path in written:
        require(any(path == folder or path.startswith(folder + '/') for folder in folders), 'door.json', '%s is in no volume' % path)
    for host in re.findall(r'mqtt://([\w.-]+)', json.dumps(camera)):
        require(host in compose['services'], 'door.json', 'no service %s' % host)


def main():
    source, dvnet = sys.argv[1:]
    files = glob.glob(os.path.join(source, 'packaging/container/Containerfile*'))
    require(len(files) == 2, 'packaging/container', 'has %d Containerfiles' % len(files))
    for path in sorted(files):
        check_containerfile(path, source, dvnet)
    check_compose(source)
    for problem in problems:
        print('FAILED: ' + problem)
    return 1 if problems else 0


if __name__ == '__main__':
    sys.exit(main())
