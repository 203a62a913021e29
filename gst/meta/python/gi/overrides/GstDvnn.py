# SPDX-License-Identifier: Apache-2.0
"""Additions to GstDvnn in Python: tensors as NumPy arrays."""
import ctypes

from ..module import get_introspection_module
from ..overrides import override

GstDvnn = get_introspection_module("GstDvnn")

__all__ = []

_CHUNK = 8  # channels that lie together in the device's layouts


class Tensor(GstDvnn.Tensor):
    def flat(self):
        """Returns the elements in the order of the memory: a read-only NumPy array, which is a view of the
        tensor's memory and keeps it alive."""
        import numpy  # applications that only read objects do not need it

        types = {
            GstDvnn.TensorDataType.FLOAT16: numpy.dtype("=f2"),
            GstDvnn.TensorDataType.FLOAT32: numpy.dtype("=f4"),
            GstDvnn.TensorDataType.UINT8: numpy.dtype("u1"),
            GstDvnn.TensorDataType.INT8: numpy.dtype("i1"),
        }
        data = self.get_bytes()
        if data is None:
            raise BufferError("tensor '%s' cannot be mapped" % self.get_name())
        size = data.get_size()
        # GLib.Bytes copies its data for Python, but gives their address.
        memory = (ctypes.c_uint8 * size).from_address(data.get_region(1, 0, size)) if size else b""
        if size:
            memory.owner = data  # the array keeps `memory` alive, which keeps the bytes
        array = numpy.frombuffer(memory, dtype=types[self.data_type])
        array.flags.writeable = False
        return array

    def numpy(self):
        """Returns the tensor as a read-only NumPy array of its dimensions, for an image n, c, h, w. It is a
        view of the tensor's memory, or a copy if channels lie in several chunks of 8."""
        import numpy

        dims, flat, layouts = tuple(self.get_dims()), self.flat(), GstDvnn.TensorLayout
        if self.layout == layouts.NCHW or len(dims) != 4:
            return flat.reshape(dims)
        n, c, h, w = dims
        if self.layout in (layouts.NHWC, layouts.HWC8):
            order, shape = (0, 3, 1, 2), (n, h, w)
        else:
            order, shape = (0, 3, 2, 1), (n, w, h)
        together = _CHUNK if self.layout in (layouts.HWC8, layouts.WHC8) else c
        pixels, parts = n * h * w, []
        for first in range(0, c, together):
            channels = min(together, c - first)
            chunk = flat[pixels * first:pixels * (first + channels)]
            parts.append(chunk.reshape(shape + (channels,)).transpose(order))
        if len(parts) == 1:
            return parts[0]
        copied = numpy.concatenate(parts, axis=1)
        copied.flags.writeable = False
        return copied


Tensor = override(Tensor)
__all__.append("Tensor")
