# SPDX-License-Identifier: Apache-2.0
"""Reads the objects that `gst-launch-1.0 -m ... dvdecode post-messages=true` prints."""
import re

SECOND = 10 ** 9  # timestamps are nanoseconds

_FIELD = re.compile(r"class-id=\(int\)(\d+)|confidence=\(double\)([^,;]+)|[xy][01]=\(double\)([^,;]+)")


def parse(text):
    """Yields timestamps and rows (class id, confidence, x0, y0, x1, y1 in pixels) per frame with any."""
    for line in text.splitlines():
        if "dvnn-objects" not in line:
            continue
        line = line.replace("\\", "")  # structures within structures are escaped
        rows = []
        for fields in re.findall(r'"object,[^;]*;', line):
            values = ["".join(m.groups("")) for m in _FIELD.finditer(fields)]
            kind, confidence, *box = (float(v) for v in values)
            rows.append((int(kind), confidence, *box))
        yield int(re.search(r"timestamp=\(guint64\)(\d+)", line).group(1)), rows
