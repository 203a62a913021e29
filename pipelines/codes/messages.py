# SPDX-License-Identifier: Apache-2.0
"""Reads the detections that `gst-launch-1.0 -m ... dvdecode message=true` prints."""
import re

SECOND = 10 ** 9  # pts are nanoseconds

_FIELD = re.compile(r"class-id=\(int\)(\d+)|confidence=\(double\)([^,;]+)|[xy][01]=\(double\)([^,;]+)")


def parse(text):
    """Yields pts and rows (class id, confidence, x0, y0, x1, y1 in pixels) per frame with any."""
    for line in text.splitlines():
        if "dvnn-detections" not in line:
            continue
        line = line.replace("\\", "")  # structures within structures are escaped
        rows = []
        for detection in re.findall(r"detection,[^;]*;", line):
            values = ["".join(m.groups("")) for m in _FIELD.finditer(detection)]
            confidence, kind, *box = (float(v) for v in values)
            rows.append((int(kind), confidence, *box))
        yield int(re.search(r"pts=\(guint64\)(\d+)", line).group(1)), rows
