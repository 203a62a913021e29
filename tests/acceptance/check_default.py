# SPDX-License-Identifier: Apache-2.0
"""The command of pipelines/codes/README.md must make the kept default network from its model again, byte for byte
except for the name.

Arguments: dvnet, default.dvn, the folder of its model
"""
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

dvnet, built, folder = (Path(argument).resolve() for argument in sys.argv[1:4])
text = (folder / "README.md").read_text()
command = re.search(r"^ {4}dvnet (convert .*?-o \S+)$", text, re.M | re.S).group(1)
words = shlex.split(command.replace("\\\n", " "))
with tempfile.TemporaryDirectory() as temporary:
    made = Path(temporary) / words.pop()
    subprocess.run([dvnet, *words, made, "--name", "codes"], cwd=folder, check=True,
                   timeout=60, stdout=subprocess.DEVNULL)
    if made.read_bytes() != built.read_bytes():
        sys.exit(f"{built} is not what 'dvnet {command} --name codes' makes: where that is meant, keep what it makes as "
                 "pipelines/codes/codes.dvn")
