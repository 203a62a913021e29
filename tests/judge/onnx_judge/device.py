# SPDX-License-Identifier: Apache-2.0
"""The project's side: converts and runs models with the program run_models, in one process for many models."""
import json
import os
import select
import subprocess
import tempfile

import numpy as np

SECONDS = 120


class Device:
    def __init__(self, command):
        self.command = command
        self.process = None
        self.folder = tempfile.TemporaryDirectory(prefix='judge-', dir='/dev/shm' if os.path.isdir('/dev/shm') else None)
        self.errors = open(os.path.join(self.folder.name, 'stderr'), 'w+b')

    def ask(self, line):
        if self.process is None:
            self.errors.seek(0)
            self.errors.truncate()
            self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors)
        try:
            self.process.stdin.write(line.encode() + b'\n')
            self.process.stdin.flush()
            ready, _, _ = select.select([self.process.stdout], [], [], SECONDS)
            answer = self.process.stdout.readline() if ready else None
        except BrokenPipeError:
            answer = b''
        if answer:
            return json.loads(answer)
        if answer is None:
            self.process.kill()
        status = self.process.wait()
        self.process = None
        self.errors.seek(0)
        said = self.errors.read().decode(errors='replace').strip().split('\n')[-1]
        return {'crashed': 'does not end' if answer is None else 'ends with %d: %s' % (status, said)}

    def run(self, files, given, options='none'):
        """Returns run_models' answer, with the outputs as arrays. `files` are a model's files, as bytes by name;
        `given` is the input, or inputs by their names."""
        paths = []
        for name, data in files.items():
            paths.append(os.path.join(self.folder.name, name))
            with open(paths[-1], 'wb') as file:
                file.write(data)
        inputs, prefix = [], os.path.join(self.folder.name, 'out')
        for k, (name, array) in enumerate(given.items() if isinstance(given, dict) else [('', given)]):
            path = os.path.join(self.folder.name, 'in%d.npy' % k)
            np.save(path, array)
            inputs.append(name + '=' + path if name else path)
        answer = self.ask(' '.join([','.join(paths), ','.join(inputs), prefix, options]))
        if 'outputs' in answer:
            answer['arrays'] = [np.load('%s.%d.npy' % (prefix, k)) for k in range(len(answer['outputs']))]
        return answer
