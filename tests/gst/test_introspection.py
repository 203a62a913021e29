#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Reads objects, passes and outputs off an appsink's frames through GObject Introspection.

    test_introspection.py CLIP      a video with a QR code, a barcode and a marker from its first frame on

Exits with 77 where Python's bindings, or GstDvnn's, are not installed.
"""
import sys

try:
    import gi
    gi.require_version("Gst", "1.0")
    from gi.repository import GObject, Gst
except (ImportError, ValueError) as missing:
    print("skipped: %s" % missing)
    sys.exit(77)
gi.require_version("GstDvnn", "1.0")
from gi.repository import GstDvnn  # noqa: E402

FRAMES = 3
LABELS = ["QR code", "barcode", "marker"]


def frames(clip, elements):
    """Yields the buffers that come out of `elements`."""
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
        assert sorted(o.label for o in found) == LABELS, [o.label for o in found]
        for o in found:
            assert o.kind == GstDvnn.ObjectKind.DETECTION and o.has_box()
            assert 0 <= o.x0 < o.x1 and 0 <= o.y0 < o.y1 and 0.5 <= o.confidence <= 1
            assert meta.find_object(o.id).label == o.label
        assert meta.get_object(len(found)) is None
        # What was read outlives the frame.
        kept.append(found[0])
    assert len({o.id for o in kept}) == FRAMES, "ids are unique"
    assert all(o.label in LABELS for o in kept)


def check_outputs(clip):
    for frame in frames(clip, "dvinfer"):
        meta = GstDvnn.buffer_get_dv_tensor_meta(frame)
        assert meta.num_tensors >= 1 and meta.region == 0
        assert meta.network.get_name() == "codes" and meta.network.get_labels()[1] in LABELS
        assert meta.transform.scale_x > 0


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


def check_enumerations():
    for name in "PassState", "ObjectKind", "TensorDataType", "TensorLayout":
        assert issubclass(getattr(GstDvnn, name), GObject.GEnum), name


def main():
    Gst.init(None)
    check_enumerations()
    check_writing()
    check_objects(sys.argv[1])
    check_outputs(sys.argv[1])
    return 0


if __name__ == "__main__":
    sys.exit(main())
