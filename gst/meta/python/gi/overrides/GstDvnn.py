# SPDX-License-Identifier: Apache-2.0
"""GstDvnn in Python: objects with attributes, tensors as NumPy arrays, and drawing on frames.

    from gi.repository import GstDvnn as dvnn

    for found in dvnn.objects(buffer):            # a Gst.Buffer, Gst.Sample or Gst.PadProbeInfo
        print(found.label, found.score, found.box, found.track)
    dvnn.draw(buffer).text("seen", 10, 10)        # dvoverlay draws it

Places are in pixels of the frame, with the edges of pixels at integers. Colours are 0xAARRGGBB: 0xffff0000 is red, and
0x80ff0000 red that shines through.
"""
import collections
import ctypes

from gi.repository import GLib, Gst

from ..module import get_introspection_module
from ..overrides import override

GstDvnn = get_introspection_module("GstDvnn")

__all__ = []

_CHUNK = 8  # channels that lie together in the device's layouts


class Tensor(GstDvnn.Tensor):
    """An output of a network. Its arrays are views: they keep the tensor's memory mapped and alive, also after the frame is
    gone, so that they never show anything else. That memory may be one of dvinfer's few I/O buffers, which serves no other
    frame meanwhile; what is kept longer than a frame is to be a copy (`tensor.numpy().copy()`)."""

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


# Metas have no GType, by which override() finds classes, so these functions go to the class itself.
def _outputs(self):
    """The tensors of a network by name: a dict, in the network's order."""
    tensors = [self.get_tensor(i) for i in range(self.num_tensors)]
    return {tensor.get_name(): tensor for tensor in tensors}


def _point_to_frame(self, x, y):
    """Maps a point, or arrays of x and of y, from pixels of the network's input to pixels of the frame."""
    to_input = self.transform
    x, y = x - to_input.offset_x, y - to_input.offset_y
    if to_input.swap_xy:
        return y / to_input.scale_y, x / to_input.scale_x
    area = to_input.scale_x * to_input.scale_y - to_input.shear_x * to_input.shear_y
    return (to_input.scale_y * x - to_input.shear_x * y) / area, (to_input.scale_x * y - to_input.shear_y * x) / area


def _to_frame(self, box):
    """Maps a box from pixels of the network's input to pixels of the frame: a Box. Of an oriented region, it is the box around
    the mapped corners."""
    x0, y0, x1, y1 = box
    xs, ys = zip(*(self.point_to_frame(x, y) for x in (x0, x1) for y in (y0, y1)))
    return Box(min(xs), min(ys), max(xs), max(ys))


GstDvnn.TensorMeta.outputs = property(_outputs)
GstDvnn.TensorMeta.point_to_frame = _point_to_frame
GstDvnn.TensorMeta.to_frame = _to_frame


class Box(collections.namedtuple("Box", "x0 y0 x1 y1")):
    """A rectangle by its edges, in pixels of the frame."""
    __slots__ = ()
    width = property(lambda self: self.x1 - self.x0)
    height = property(lambda self: self.y1 - self.y0)
    center = property(lambda self: ((self.x0 + self.x1) / 2, (self.y0 + self.y1) / 2))


KeyPoint = collections.namedtuple("KeyPoint", "x y score")
KeyPoint.__doc__ = "A point of an object in pixels of the frame; with a score of 0, the network did not see it."
Ground = collections.namedtuple("Ground", "x y deviation speed speed_deviation heading")
Ground.__doc__ = "Where an object stands in metres and how fast it goes in metres per second; see gst_dv_object_get_ground()."
__all__ += ["Box", "KeyPoint", "Ground"]

_BareObject = GstDvnn.Object


class Object(_BareObject):
    """An object that was found in a frame. It is a copy, which may be kept and changed; `objects(buffer).put(found)` writes it to
    the frame. `id`, `parent`, `kind`, `class_id` and `network` are those of GstDvObject."""

    @property
    def label(self):
        """The name of its class, a string."""
        return _BareObject.label.fget(self)

    @label.setter
    def label(self, label):
        self.set_label(label)

    @property
    def score(self):
        """How sure the network is, from 0 to 1."""
        return self.confidence

    @score.setter
    def score(self, score):
        if not 0 <= score <= 1:
            raise ValueError("score %r is not from 0 to 1" % (score,))
        self.confidence = score

    @property
    def track(self):
        """The number of its track, the same in successive frames; None if it is not tracked."""
        return self.track_id or None

    @track.setter
    def track(self, track):
        self.track_id = track or 0

    @property
    def box(self):
        """Its place, a Box; None if it has none."""
        return Box(self.x0, self.y0, self.x1, self.y1) if self.has_box() else None

    @box.setter
    def box(self, box):
        self.set_box(*(box if box is not None else (0, 0, 0, 0)))

    @property
    def keypoints(self):
        """Its points, a tuple of KeyPoints; `skeleton` names their set."""
        return tuple(KeyPoint(*self.get_point(i)[1:]) for i in range(self.get_n_points()))

    @keypoints.setter
    def keypoints(self, points):
        self._place(keypoints=[tuple(point) if len(point) > 2 else (*point, 1) for point in points])

    @property
    def outline(self):
        """The corners (x, y) of an oriented box or a polygon, in order around it."""
        return tuple(tuple(self.get_corner(i)[1:]) for i in range(self.get_n_corners()))

    @outline.setter
    def outline(self, corners):
        self._place(outline=[(x, y) for x, y in corners])

    @property
    def skeleton(self):
        """The name of the set of its points, such as "coco-17"; None if it has none."""
        return self.get_skeleton()

    @skeleton.setter
    def skeleton(self, name):
        self.set_skeleton(name)

    @property
    def mask(self):
        """Which part of `mask_box` it covers: a read-only NumPy array of bytes, rows by columns; None if it has none. Of a
        detection, 255 is surely the object and 128 its edge; of a segmentation, the bytes are classes. Assigning an array puts
        it at `mask_box` or, if there was no mask, at `box`; assigning None removes it."""
        there, *place = self.get_mask()
        if not there:
            return None
        import numpy  # applications that only read boxes do not need it

        width, height = place[4:]
        return numpy.frombuffer(self.get_mask_cells().get_data(), dtype="u1").reshape(height, width)

    @mask.setter
    def mask(self, cells):
        place = self.mask_box or self.box
        if cells is not None and place is None:
            raise ValueError("the object has no box for a mask: set `box` first")
        self._place(mask=None if cells is None else (_bytes_of_cells(cells), place))

    @property
    def mask_box(self):
        """The rectangle that its mask covers, a Box; None if there is no mask."""
        there, *place = self.get_mask()
        return Box(*place[:4]) if there else None

    @mask_box.setter
    def mask_box(self, box):
        if self.mask is None:
            raise ValueError("the object has no mask to move")
        self._place(mask=(_bytes_of_cells(self.mask), Box(*box)))

    @property
    def text(self):
        """The text that was read on it; None if there is none."""
        return self.get_text()

    @text.setter
    def text(self, text):
        self.set_text(text)

    @property
    def embedding(self):
        """Numbers that are similar for similar things: a NumPy array of float32; None if it has none."""
        values = self.get_embedding()
        if not values:
            return None
        import numpy

        return numpy.array(values, dtype="f4")

    @embedding.setter
    def embedding(self, values):
        self.set_embedding([float(value) for value in values] if values is not None else [])

    @property
    def numbers(self):
        """Estimates by name, such as an age in years: a dict. `add_number()` adds one."""
        return dict(tuple(self.get_number(i)) for i in range(self.get_n_numbers()))

    @property
    def ground(self):
        """Its place and speed in metres, a Ground; None if they are not known."""
        known, *values = self.get_ground()
        return Ground(*values) if known else None

    def _place(self, **changed):
        """Changes details with a place. The library only adds to them or forgets all of them, so it gets all of them again."""
        there = {"box": self.box, "keypoints": self.keypoints, "outline": self.outline, "skeleton": self.skeleton,
                 "mask": None if self.mask is None else (_bytes_of_cells(self.mask), self.mask_box)}
        there.update(changed)
        self.forget_places()
        self.box = there["box"]
        for x, y, score in there["keypoints"]:
            self.add_point(x, y, score)
        for x, y in there["outline"]:
            self.add_corner(x, y)
        self.set_skeleton(there["skeleton"])
        if there["mask"]:
            (cells, width, height), place = there["mask"]
            if not self.set_mask(*place, width, height, GLib.Bytes.new(cells)):
                raise ValueError("a mask of %dx%d cells at %s is none" % (width, height, tuple(place)))

    def __repr__(self):
        box = self.box
        place = "at %.1f %.1f %.1f %.1f" % box if box else "without a place"
        return "<%s %.2f %s>" % (self.label, self.score, place)


def _bytes_of_cells(cells):
    """Returns the bytes, the width and the height of a mask."""
    import numpy

    array = numpy.ascontiguousarray(cells)
    if array.dtype == bool:
        array = array.astype("u1") * 255
    if array.dtype != numpy.uint8 or array.ndim != 2 or array.size == 0:
        raise ValueError("a mask has rows and columns of uint8 or bool; this one is %s of %s" % (array.dtype, array.shape))
    return array.tobytes(), array.shape[1], array.shape[0]


Object = override(Object)
__all__.append("Object")


def _buffer_of(frame):
    """Returns the buffer of whatever comes with a frame."""
    if isinstance(frame, (Gst.Sample, Gst.PadProbeInfo)):
        frame = frame.get_buffer()
    if not isinstance(frame, Gst.Buffer):
        raise TypeError("expected a Gst.Buffer, or a Gst.Sample or Gst.PadProbeInfo that has one")
    return frame


def _writable(frame, of_probe, of_buffer):
    """Returns the meta of a frame that is to be written to, which is created if there is none, and the buffer."""
    if isinstance(frame, Gst.PadProbeInfo):
        meta = of_probe(frame)
        if meta is None:
            raise TypeError("the probe is about no buffer")
        return meta, frame.get_buffer()
    buffer = _buffer_of(frame)
    if not GstDvnn.buffer_is_writable(buffer):
        raise BufferError("the buffer is shared, so that it may not be written to; in a pad's probe, pass its Gst.PadProbeInfo"
                          " itself before you call its get_buffer()")
    return of_buffer(buffer), buffer


class Objects:
    """The objects of a frame: a sequence of copies (Object). It keeps the frame alive."""

    def __init__(self, frame):
        self._frame = frame
        self._buffer = self._meta = None
        if not isinstance(frame, Gst.PadProbeInfo):  # a reference would make the probe's buffer read-only
            self._buffer = _buffer_of(frame)

    def _read(self):
        buffer = self._buffer or _buffer_of(self._frame)
        return self._meta or GstDvnn.buffer_get_dv_objects_meta(buffer), buffer

    def _write(self):
        if self._meta is None:
            self._meta, self._buffer = _writable(self._frame, GstDvnn.objects_meta_of_probe,
                                                 GstDvnn.buffer_add_dv_objects_meta)
        return self._meta

    def __len__(self):
        meta, _buffer = self._read()
        return meta.get_n_objects() if meta else 0

    def __getitem__(self, index):
        count = len(self)
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(count))]
        if not -count <= index < count:
            raise IndexError("object %d of %d" % (index, count))
        meta, _buffer = self._read()
        return meta.get_object(index % count)

    def __iter__(self):
        return iter(self[:])  # copies, so that the frame may change meanwhile

    @property
    def passes(self):
        """The networks that have seen the frame and what each did: a list of (name, PassState)."""
        meta, _buffer = self._read()
        passes = [meta.get_pass(i) for i in range(meta.get_n_passes())] if meta else []
        return [(each.network, each.state) for each in passes]

    def add(self, label, box=None, score=1.0, class_id=0, kind=None, **attributes):
        """Adds an object to the frame, and returns it. `attributes` are others of Object: track, keypoints, mask, text, parent."""
        made = GstDvnn.Object.new(GstDvnn.ObjectKind.DETECTION if kind is None else kind, class_id, label, score)
        made.box = box
        for name, value in attributes.items():
            if not hasattr(made, name):
                raise AttributeError("objects have no '%s'" % name)
            setattr(made, name, value)
        return self.put(made)

    def put(self, found):
        """Writes an object to the frame: in place of the one with its id, or as a new one. Returns it with its id."""
        found.id = self._write().put_object(found)
        return found

    def remove(self, found):
        """Removes an object; its parts stay."""
        if not self._write().remove_object(found.id):
            raise ValueError("the frame has no object %d" % found.id)


def objects(frame):
    """Returns the objects of a frame, a sequence that can be changed: `for found in objects(buffer)`. `frame` is a Gst.Buffer, a
    Gst.Sample or, to change objects in a pad's probe, its Gst.PadProbeInfo."""
    return Objects(frame)


class Drawing:
    """What dvoverlay draws on a frame beside the objects. Each method adds a shape and returns it; a shape may be added to more
    frames by `add()`, so that a logo is prepared once. Shapes with `z` below 0 are drawn before the objects, the others after
    them, in rising order. `thickness` and `height` are in pixels of the frame; 0 stands for dvoverlay's own."""

    def __init__(self, frame):
        self._meta, self._buffer = _writable(frame, GstDvnn.drawing_meta_of_probe, GstDvnn.buffer_add_dv_drawing_meta)

    def __len__(self):
        return self._meta.get_n_shapes()

    def __iter__(self):
        return iter([tuple(self._meta.get_shape(i)) for i in range(len(self))])

    def add(self, shape, z=0):
        """Adds a shape that was made before."""
        try:
            self._meta.add_shape(shape, z)
        except GLib.Error as error:
            raise ValueError(error.message) from None
        return shape

    def clear(self):
        """Removes all shapes."""
        self._meta.clear()

    def line(self, points, color=0xffffff00, thickness=0, z=0):
        """Draws a line through points (x, y)."""
        return self.add(_made(GstDvnn.Shape.new_line, _flat(points), color, thickness), z)

    def polygon(self, points, color=0xffffff00, fill=0, thickness=0, z=0):
        """Draws a closed line through points (x, y), and fills it; colours of alpha 0 leave edge or inside out."""
        return self.add(_made(GstDvnn.Shape.new_polygon, _flat(points), color, fill, thickness), z)

    def rectangle(self, box, color=0xffffff00, fill=0, thickness=0, z=0):
        """Draws a box (x0, y0, x1, y1) as a polygon; its edge lies half inside."""
        x0, y0, x1, y1 = box
        return self.polygon([(x0, y0), (x1, y0), (x1, y1), (x0, y1)], color, fill, thickness, z)

    def text(self, text, x, y, color=0xffffffff, ground=0xa0000000, height=0, z=0):
        """Writes a line of text, whose upper left corner is at x, y, on a ground."""
        return self.add(_made(GstDvnn.Shape.new_text, text, x, y, color, ground, height), z)

    def picture(self, pixels, box, z=0):
        """Draws a picture, scaled to a box (x0, y0, x1, y1): a GdkPixbuf.Pixbuf, or a NumPy array of uint8 with rows, columns and
        3 or 4 channels (R, G, B, alpha)."""
        return self.add(_made(GstDvnn.Shape.new_picture, *_picture_of(pixels), *box), z)


def _flat(points):
    return [float(value) for x, y in points for value in (x, y)]


def _made(make, *values):
    try:
        return make(*values)
    except GLib.Error as error:
        raise ValueError(error.message) from None


def _picture_of(pixels):
    """Returns bytes, width, height, channels and stride."""
    if hasattr(pixels, "read_pixel_bytes"):
        return (pixels.read_pixel_bytes(), pixels.get_width(), pixels.get_height(), pixels.get_n_channels(),
                pixels.get_rowstride())
    import numpy

    array = numpy.ascontiguousarray(pixels)
    if array.dtype != numpy.uint8 or array.ndim != 3:
        raise ValueError("a picture has rows, columns and channels of uint8; this one is %s of %s" % (array.dtype, array.shape))
    height, width, channels = array.shape
    return GLib.Bytes.new(array.tobytes()), width, height, channels, 0


def draw(frame):
    """Returns the Drawing of a frame: `draw(buffer).line([(0, 0), (64, 48)], color=0xffff0000)`. `frame` is a Gst.Buffer that nobody
    else holds or, in a pad's probe, its Gst.PadProbeInfo. Let go of the Drawing before the frame goes on."""
    return Drawing(frame)


__all__ += ["Objects", "objects", "Drawing", "draw"]
