#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Reads objects, passes and outputs from an appsink's frames through GObject Introspection.

    test_introspection.py CLIP      a video with a QR code, a barcode and a marker from its first frame on

Exits with 77 if Python's bindings, or GstDvnn's, are not installed.
"""
import sys

try:
    import gi
    gi.require_version("Gst", "1.0")
    from gi.repository import GLib, GObject, Gst
except (ImportError, AttributeError, ValueError) as missing:
    print("skipped: %s" % missing)
    sys.exit(77)
gi.require_version("GstDvnn", "1.0")
from gi.repository import GstDvnn  # noqa: E402

FRAMES = 3
LABELS = ["QR code", "barcode", "marker"]
BYTES = {GstDvnn.TensorDataType.FLOAT16: 2, GstDvnn.TensorDataType.FLOAT32: 4,
         GstDvnn.TensorDataType.UINT8: 1, GstDvnn.TensorDataType.INT8: 1}


def frames(clip, elements):
    """Yields the output buffers of `elements`."""
    pipeline = Gst.parse_launch("filesrc location=%s ! decodebin ! videoconvert ! %s ! appsink name=out"
                                " sync=false max-buffers=1" % (clip, elements))
    out = pipeline.get_by_name("out")
    pipeline.set_state(Gst.State.PLAYING)
    for _ in range(FRAMES):
        sample = out.emit("pull-sample")
        assert sample, "no frame"
        yield sample.get_buffer()
    pipeline.set_state(Gst.State.NULL)


def check_objects(clip):
    kept = []
    for frame in frames(clip, "dvinfer ! dvdecode"):
        meta = GstDvnn.buffer_get_dv_objects_meta(frame)
        assert meta.get_n_passes() == 1
        assert meta.get_pass(0).network == "codes"
        assert meta.get_pass(0).state == GstDvnn.PassState.INFERRED
        found = [meta.get_object(i) for i in range(meta.get_n_objects())]
        # The clip begins with a parcel that has one of each, beside a part of another parcel.
        labels = {o.label for o in found}
        assert {"QR code", "barcode"} <= labels <= set(LABELS), [o.label for o in found]
        for o in found:
            assert o.kind == GstDvnn.ObjectKind.DETECTION and o.has_box()
            assert 0 <= o.x0 < o.x1 and 0 <= o.y0 < o.y1 and 0.5 <= o.confidence <= 1
            assert meta.find_object(o.id).label == o.label
        assert meta.get_object(len(found)) is None
        # Copies of objects outlive the frame.
        kept.append(found[0])
    assert len({o.id for o in kept}) == FRAMES, "ids are unique"
    assert all(o.label in LABELS for o in kept)


def check_outputs(clip):
    for frame in frames(clip, "dvinfer"):
        meta = GstDvnn.buffer_get_dv_tensor_meta(frame)
        assert meta.num_tensors >= 1 and meta.region == 0
        assert meta.network.get_name() == "codes" and meta.network.get_labels()[1] in LABELS
        assert meta.transform.scale_x > 0
        # Structures can be read, and outlive the frame.
        tensors = [meta.get_tensor(i) for i in range(meta.num_tensors)]
        assert meta.get_tensor(meta.num_tensors) is None and meta.find_tensor("nowhere") is None
        for tensor in tensors:
            dims = tensor.get_dims()
            assert 1 <= len(dims) == tensor.num_dims and meta.find_tensor(tensor.get_name()).get_dims() == dims
            assert tensor.get_bytes().get_size() == elements(dims) * BYTES[tensor.data_type]
        yield tensors


def elements(dims):
    count = 1
    for dim in dims:
        count *= dim
    return count


def check_arrays(clip):
    """Tensors as NumPy arrays have the same memory, and the same values as in a stream of tensors."""
    try:
        import numpy
    except ImportError as missing:
        print("arrays are not tried: %s" % missing)
        return
    check_array_is_the_memory(numpy)
    check_layouts(numpy)
    streams = [list(frame_bytes(frame)) for frame in frames(clip, "dvconvert ! dvinfer ! other/tensors")]
    for number, tensors in enumerate(check_outputs(clip)):
        assert len(tensors) == len(streams[number])
        for tensor, stream in zip(tensors, streams[number]):
            flat, array = tensor.flat(), tensor.numpy()
            assert flat.tobytes() == stream, tensor.get_name()
            assert list(array.shape) == list(tensor.get_dims()) and array.dtype == flat.dtype
            assert not array.flags.writeable and numpy.isfinite(array).all() and numpy.abs(array).max() > 0
            assert address(flat) == address(tensor.flat()), "a copy was made"


def frame_bytes(frame):
    """Returns the bytes of each memory of a buffer."""
    at = 0
    for i in range(frame.n_memory()):
        size = frame.peek_memory(i).get_sizes()[0]
        yield frame.extract_dup(at, size)
        at += size


def address(array):
    return array.__array_interface__["data"][0]


def check_array_is_the_memory(numpy):
    """Half precision from a buffer whose address is known; the array keeps the buffer alive."""
    values = numpy.arange(24, dtype="=f2") / 8
    memory = GLib.Bytes.new(values.tobytes())
    buffer = Gst.Buffer.new_wrapped_bytes(memory)
    tensor = GstDvnn.Tensor.new("half", GstDvnn.TensorDataType.FLOAT16, GstDvnn.TensorLayout.NCHW,
                                [1, 2, 3, 4], buffer)
    assert tensor.get_name() == "half" and list(tensor.get_dims()) == [1, 2, 3, 4]
    array = tensor.numpy()
    assert array.dtype == numpy.float16 and array.shape == (1, 2, 3, 4)
    assert address(array) == memory.get_region(1, 0, memory.get_size()), "a copy was made"
    del tensor, buffer, memory
    assert (array.reshape(24) == values).all()
    try:
        array[0, 0, 0, 0] = 1
    except ValueError:
        pass
    else:
        raise AssertionError("the device's memory can be written to")


def check_layouts(numpy):
    """Each layout by its formula: the place of element (n, c, h, w)."""
    layouts = GstDvnn.TensorLayout
    for c in 3, 8, 11:
        n, h, w = 1, 2, 5

        def offset(layout, y, x, k):
            if layout == layouts.NCHW:
                return (k * h + y) * w + x
            if layout in (layouts.NHWC, layouts.NWHC):
                first, together = 0, c
            else:
                first = k // 8 * 8
                together = min(8, c - first)
            pixel = y * w + x if layout in (layouts.NHWC, layouts.HWC8) else x * h + y
            return first * h * w + pixel * together + k - first

        for layout in layouts.NCHW, layouts.NHWC, layouts.NWHC, layouts.WHC8, layouts.HWC8:
            values = numpy.arange(n * c * h * w, dtype="=f4")
            memory = GLib.Bytes.new(values.tobytes())
            tensor = GstDvnn.Tensor.new("x", GstDvnn.TensorDataType.FLOAT32, layout, [n, c, h, w],
                                        Gst.Buffer.new_wrapped_bytes(memory))
            array = tensor.numpy()
            assert array.shape == (n, c, h, w)
            for y in range(h):
                for x in range(w):
                    for k in range(c):
                        assert array[0, k, y, x] == offset(layout, y, x, k), (layout, c, y, x, k)
            copied = c > 8 and layout in (layouts.WHC8, layouts.HWC8)
            assert copied != (address(array) == memory.get_region(1, 0, memory.get_size()))


def check_writing():
    frame = Gst.Buffer.new_allocate(None, 16, None)
    assert GstDvnn.buffer_get_dv_objects_meta(frame) is None
    meta = GstDvnn.buffer_add_dv_objects_meta(frame)
    made = GstDvnn.Object.new(GstDvnn.ObjectKind.CLASSIFICATION, 7, "seven", 0.25)
    made.set_box(1, 2, 3, 4)
    made.track_id = 9
    name = meta.put_object(made)
    copy = frame.copy()  # metas live as long as their buffers
    again = GstDvnn.buffer_get_dv_objects_meta(copy).get_object(0)
    del copy
    assert (again.id, again.class_id, again.label, again.x1, again.track_id) == (name, 7, "seven", 3, 9)
    assert meta.remove_object(name) and meta.get_n_objects() == 0


def check_details():
    """Points, outlines, masks, text, embeddings and numbers, on a copy of the frame."""
    frame = Gst.Buffer.new_allocate(None, 16, None)
    meta = GstDvnn.buffer_add_dv_objects_meta(frame)
    made = GstDvnn.Object.new(GstDvnn.ObjectKind.ATTRIBUTES, 0, "face", 1)
    made.add_point(1.5, 2.5, 0.5)
    made.add_point(float("nan"), 0, 1)
    made.set_skeleton("face-5")
    made.add_corner(3, 4)
    assert made.set_mask(0, 0, 6, 4, 3, 2, GLib.Bytes.new(bytes(range(6))))
    made.set_text("\u6771\u4eac")
    made.set_embedding([0.5, -2])
    made.add_number("age", 34.5)
    assert made.get_looks() == 0 and tuple(made.get_agreement()) == (0, False)
    made.set_agreement(3, 0.75, True)
    assert tuple(made.get_likeness()) == (False, 0, False) and made.get_name() is None
    made.set_identity(None, 17, 0.5, False)
    assert made.get_stranger() == 17 and tuple(made.get_likeness()) == (True, 0.5, False)
    made.set_identity("Ada", 17, 0.75, True)
    meta.put_object(made)
    copy = frame.copy()
    o = GstDvnn.buffer_get_dv_objects_meta(copy).get_object(0)
    del copy, frame, meta, made
    assert o.kind == GstDvnn.ObjectKind.ATTRIBUTES
    assert [tuple(o.get_point(i)) for i in range(o.get_n_points())] == [(True, 1.5, 2.5, 0.5), (True, 0, 0, 0)]
    assert not o.get_point(2)[0] and o.get_skeleton() == "face-5"
    assert o.get_n_corners() == 1 and tuple(o.get_corner(0)) == (True, 3, 4)
    assert tuple(o.get_mask()) == (True, 0, 0, 6, 4, 3, 2)
    assert o.get_mask_cells().get_data() == bytes(range(6))
    assert o.get_text() == "\u6771\u4eac" and list(o.get_embedding()) == [0.5, -2]
    assert o.get_name() == "Ada" and o.get_stranger() == 0
    assert tuple(o.get_likeness()) == (True, 0.75, True)
    assert o.get_looks() == 3 and tuple(o.get_agreement()) == (0.75, True)
    assert o.get_n_numbers() == 1 and tuple(o.get_number(0)) == ("age", 34.5)
    assert tuple(o.find_number("age")) == (True, 34.5) and not o.find_number("size")[0]
    o.forget_places()
    assert o.get_n_points() == 0 and not o.get_mask()[0] and o.get_text()


def refused(what, exception, words):
    try:
        what()
    except exception as error:
        assert words in str(error), error
    else:
        raise AssertionError("not refused: %s" % words)


def check_attributes():
    """Objects as attributes: reading, adding, changing and removing."""
    frame = Gst.Buffer.new_allocate(None, 16, None)
    objects = GstDvnn.objects(frame)
    assert len(objects) == 0 and list(objects) == [] and objects.passes == []
    added = objects.add("face", (1, 2, 31, 42), 0.5, class_id=3, track=7, keypoints=[(1, 2), (3, 4, 0.25)], text="one")
    other = objects.add("nothing", parent=added.id)
    assert other.box is None and other.track is None and other.keypoints == () and other.text is None
    found = GstDvnn.objects(frame)[0]
    assert (found.id, found.label, found.score, found.track, found.text) == (added.id, "face", 0.5, 7, "one")
    assert found.box == (1, 2, 31, 42) and (found.box.width, found.box.height, found.box.center) == (30, 40, (16, 22))
    assert found.keypoints == ((1, 2, 1), (3, 4, 0.25)) and found.outline == () and found.skeleton is None
    assert found.numbers == {} and found.ground is None and found.class_id == 3
    # What changes is a copy until it is put back.
    found.label, found.score, found.track, found.box = "cat", 0.75, None, (4, 3, 2, 1)
    found.skeleton, found.outline, found.text = "face-5", [(0, 0), (9, 0), (9, 9)], None
    found.add_number("age", 3)
    assert objects[0].label == "face" and objects[-2].box == (1, 2, 31, 42)
    objects.put(found)
    found = objects[0]
    assert (found.label, found.score, found.track, found.text) == ("cat", 0.75, None, None)
    assert found.box == (2, 1, 4, 3) and found.keypoints == ((1, 2, 1), (3, 4, 0.25)) and found.skeleton == "face-5"
    assert found.outline == ((0, 0), (9, 0), (9, 9)) and found.numbers == {"age": 3}
    found.keypoints = []
    assert found.keypoints == () and found.box == (2, 1, 4, 3) and len(found.outline) == 3
    found.set_ground(1, 2, 0.5, 3, 0.25, 90)
    assert found.ground.speed == 3 and found.ground.heading == 90
    objects.remove(found)
    assert [left.label for left in objects] == ["nothing"] and objects[0].parent == 0
    refused(lambda: objects.remove(found), ValueError, "no object %d" % found.id)
    refused(lambda: objects[1], IndexError, "object 1 of 1")
    refused(lambda: setattr(found, "score", 2), ValueError, "score 2")
    refused(lambda: objects.add("x", nonsense=1), AttributeError, "nonsense")
    shared = frame.copy()
    sample = Gst.Sample.new(shared, None, None, None)
    assert [left.label for left in GstDvnn.objects(sample)] == ["nothing"]
    refused(lambda: GstDvnn.objects(sample).add("x"), BufferError, "shared")
    refused(lambda: GstDvnn.objects(None), TypeError, "Gst.Buffer")
    kept = [left for left in GstDvnn.objects(sample)][0]
    del sample, shared
    assert kept.label == "nothing"


def check_masks():
    try:
        import numpy
    except ImportError:
        return
    frame = Gst.Buffer.new_allocate(None, 16, None)
    objects = GstDvnn.objects(frame)
    cells = numpy.arange(6, dtype="u1").reshape(2, 3)
    objects.add("thing", (10, 20, 40, 40), mask=cells, embedding=numpy.array([0.5, -2]))
    found = objects[0]
    assert (found.mask == cells).all() and found.mask.shape == (2, 3) and found.mask_box == found.box
    assert found.embedding.tolist() == [0.5, -2] and found.embedding.dtype == numpy.float32
    refused(lambda: found.mask.__setitem__((0, 0), 1), ValueError, "read-only")
    found.mask_box = 0, 0, 60, 40
    found.mask = cells[:, ::2] > 1
    assert found.mask.tolist() == [[0, 255], [255, 255]] and found.mask_box == (0, 0, 60, 40)
    array = found.mask
    del found, objects, frame
    assert array.tolist() == [[0, 255], [255, 255]]  # it outlives object and frame
    bare = GstDvnn.Object.new(GstDvnn.ObjectKind.DETECTION, 0, "bare", 1)
    assert bare.mask is None and bare.mask_box is None and bare.embedding is None
    refused(lambda: setattr(bare, "mask", cells), ValueError, "no box")
    bare.box = 0, 0, 1, 1
    refused(lambda: setattr(bare, "mask", cells * 1.0), ValueError, "float64")
    bare.mask = cells
    bare.mask = None
    assert bare.mask is None


def check_drawing():
    frame = Gst.Buffer.new_allocate(None, 16, None)
    drawing = GstDvnn.draw(frame)
    assert len(drawing) == 0
    line = drawing.line([(0, 1), (2, 3.5)], color=0xff123456, thickness=3)
    drawing.polygon([(0, 0), (5, 0), (5, 5)], fill=0x80ff0000, z=-1)
    drawing.rectangle((1, 2, 3, 4))
    drawing.text("h\u00e9", 5, 6, height=12)
    shapes = list(drawing)
    assert [(shape.kind.value_nick, z) for shape, z in shapes] == [("line", 0), ("polygon", -1), ("polygon", 0), ("text", 0)]
    shape = shapes[0][0]
    assert shape.get_places() == [0, 1, 2, 3.5] and (shape.color, shape.size) == (0xff123456, 3)
    assert shapes[1][0].fill == 0x80ff0000 and shapes[2][0].get_places() == [1, 2, 3, 2, 3, 4, 1, 4]
    assert shapes[3][0].get_text() == "h\u00e9" and shapes[3][0].size == 12
    # A shape is prepared once, and lives without its frame.
    del frame, drawing, shapes
    again = GstDvnn.draw(Gst.Buffer.new_allocate(None, 16, None))
    again.add(line, z=4)
    assert [(shape.get_places(), z) for shape, z in again] == [([0, 1, 2, 3.5], 4)]
    again.clear()
    assert len(again) == 0
    refused(lambda: again.line([(0, 0)]), ValueError, "2 to 4096 points")
    refused(lambda: again.text("x" * 1025, 0, 0), ValueError, "1025 bytes")
    try:
        import numpy
    except ImportError:
        return
    picture = again.picture(numpy.full((2, 3, 4), 255, "u1"), (10, 20, 40, 40))
    assert (picture.width, picture.height) == (3, 2) and picture.get_places() == [10, 20, 40, 20, 10, 40]
    assert picture.get_pixels().get_data() == b"\xff" * 24
    refused(lambda: again.picture(numpy.zeros((2, 3, 5), "u1"), (0, 0, 1, 1)), ValueError, "5 channels")
    refused(lambda: again.picture(numpy.zeros((2, 3)), (0, 0, 1, 1)), ValueError, "float64")


def check_probe():
    """A program that draws and changes objects in a pad's probe."""
    pipeline = Gst.parse_launch("videotestsrc num-buffers=2 pattern=black ! video/x-raw,format=RGB,width=64,height=48 !"
                                " identity name=here ! dvoverlay draw-labels=false draw-confidence=false line-width=1 !"
                                " appsink name=out sync=false")

    def probe(_pad, info):
        drawing = GstDvnn.draw(info)
        drawing.rectangle((10, 10, 20, 20), color=0, fill=0xffff0000)
        drawing.rectangle((30, 10, 60, 30), color=0, fill=0xff0000ff, z=-1)
        del drawing
        GstDvnn.objects(info).add("thing", (32, 12, 40, 20))
        assert len(GstDvnn.objects(info)) == 1
        return Gst.PadProbeReturn.OK

    pipeline.get_by_name("here").get_static_pad("src").add_probe(Gst.PadProbeType.BUFFER, probe)
    out = pipeline.get_by_name("out")
    pipeline.set_state(Gst.State.PLAYING)
    for _ in range(2):
        frame = out.emit("pull-sample").get_buffer()

        def at(x, y):
            return tuple(frame.extract_dup((y * 64 + x) * 3, 3))

        assert at(15, 15) == (255, 0, 0) and at(25, 15) == (0, 0, 0) and at(50, 20) == (0, 0, 255)
        assert at(32, 15) not in ((0, 0, 255), (0, 0, 0)), "the object's box is above the blue"
        assert [found.label for found in GstDvnn.objects(frame)] == ["thing"]
    pipeline.set_state(Gst.State.NULL)


def check_enumerations():
    for name in "ShapeKind", "PassState", "ObjectKind", "TensorDataType", "TensorLayout":
        assert issubclass(getattr(GstDvnn, name), GObject.GEnum), name


def main():
    Gst.init(None)
    check_enumerations()
    check_writing()
    check_details()
    check_attributes()
    check_masks()
    check_drawing()
    check_probe()
    check_objects(sys.argv[1])
    for _ in check_outputs(sys.argv[1]):
        pass
    check_arrays(sys.argv[1])
    return 0


if __name__ == "__main__":
    sys.exit(main())
