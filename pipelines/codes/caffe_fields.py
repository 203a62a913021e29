# SPDX-License-Identifier: Apache-2.0
"""Reads the Caffe file of the default network: a protobuf message whose fields are all length-delimited."""


def fields(data, at, end):
    """Number, begin and end of the fields of a message."""
    def number():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < end:
        tag, size = number(), number()
        yield tag >> 3, at, at + size
        at += size
