#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""dvzones takes the zones that docs/zones.md and docs/ground.md print, and so does the schema: zones.py SOURCE."""
import json
import os
import re
import subprocess
import sys

try:
    import jsonschema
except ImportError:
    jsonschema = None
    print("there is no python3-jsonschema: only dvzones is asked")

docs = os.path.join(sys.argv[1], "docs")
with open(os.path.join(docs, "schema", "camera.json"), encoding="utf-8") as file:
    schema = json.load(file)
zones_schema = dict(schema["$defs"]["zones"])


def is_taken(zones):
    """Returns whether dvzones plays with these zones."""
    launch = ["gst-launch-1.0", "-q", "videotestsrc", "num-buffers=1", "!", "dvzones", "zones=" + json.dumps(zones), "!", "fakesink"]
    return subprocess.run(launch, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=60, check=False).returncode == 0


def fits(zones):
    return not jsonschema or jsonschema.Draft202012Validator(zones_schema).is_valid(zones)


seen = set()
for page in ("zones.md", "ground.md"):
    with open(os.path.join(docs, page), encoding="utf-8") as file:
        text = file.read()
    for block in re.findall(r"```json\n(.*?)```", text, re.S):
        zones = json.loads(block)
        assert is_taken(json.dumps(zones)), "%s: dvzones refuses %s" % (page, block)
        assert fits(zones), "%s: the schema refuses %s" % (page, block)
        seen |= set(zones)
        for shapes in ("areas", "lines"):
            for shape in zones.get(shapes, ()):
                seen |= set(shape)
                # A misspelt field is refused by both.
                wrong = json.loads(block)
                wrong[shapes][0]["colour"] = 1
                assert not is_taken(json.dumps(wrong)), block
                assert not jsonschema or not fits(wrong), block
for member in ("ground", "heat", "distances", "occupied", "free", "min-speed", "heading", "distance-below", "speed-limit", "anchor"):
    assert member in seen, "no page shows %s" % member
print(sorted(seen))
