# SPDX-License-Identifier: Apache-2.0
"""pydecode, a decoder in Python: an element after dvinfer that reads a network's output as a NumPy array and writes objects.

Debian's gstreamer1.0-python3-plugin-loader finds it in a folder named "python" on GStreamer's plugin path:

    export GST_PLUGIN_PATH=docs/examples:$GST_PLUGIN_PATH
    gst-launch-1.0 filesrc location=pipelines/codes/codes.webm ! decodebin ! videoconvert ! dvconvert ! dvinfer !
      pydecode threshold=0.5 ! dvoverlay ! videoconvert ! autovideosink

It decodes what dvdecode calls "detection-output", the rows at the end of Caffe's SSD and of the default network: image,
class, score and edges in fractions of the network's input. For another network, change rows_of().
"""
import gi

gi.require_version("Gst", "1.0")
gi.require_version("GstBase", "1.0")
gi.require_version("GstVideo", "1.0")
gi.require_version("GstDvnn", "1.0")
from gi.repository import GObject, Gst, GstBase, GstVideo  # noqa: E402
from gi.repository import GstDvnn as dvnn  # noqa: E402


def rows_of(outputs):
    """Yields class, score and edges in pixels of the network's input of each row, best first."""
    # A view of dvinfer's memory: nothing is copied. It is gone when this function returns, and dvinfer has the memory back
    # when the frame is gone, too. What is to be kept would be copied: array.copy().
    array = outputs.get_tensor(0).numpy()
    rows = array.reshape(-1, 7)
    rows = rows[rows[:, 0] >= 0]  # rows of image -1 are empty
    for _image, label, score, x0, y0, x1, y1 in rows[(-rows[:, 2]).argsort(kind="stable")].tolist():
        yield (int(label), score, x0 * outputs.input_width, y0 * outputs.input_height, x1 * outputs.input_width,
               y1 * outputs.input_height)


class Decoder(GstBase.BaseTransform):
    __gstmetadata__ = ("Decoder in Python", "Filter/Analyzer/Video", "Makes objects of the rows of an SSD",
                       "gst-dvnn maintainers")
    __gsttemplates__ = (
        Gst.PadTemplate.new("sink", Gst.PadDirection.SINK, Gst.PadPresence.ALWAYS, Gst.Caps.from_string("video/x-raw")),
        Gst.PadTemplate.new("src", Gst.PadDirection.SRC, Gst.PadPresence.ALWAYS, Gst.Caps.from_string("video/x-raw")))

    threshold = GObject.Property(type=float, default=0.5, minimum=0, maximum=1, nick="Threshold",
                                 blurb="Least score of an object")

    def __init__(self):
        super().__init__()
        self.set_in_place(True)  # GstBaseTransform hands over frames to which metas may be added
        self.size = (0, 0)

    def do_set_caps(self, caps, _out_caps):
        info = GstVideo.VideoInfo.new_from_caps(caps)
        self.size = info.width, info.height
        return True

    def do_transform_ip(self, frame):
        outputs = dvnn.buffer_get_dv_tensor_meta(frame)
        if outputs is None:  # dvinfer did not look at this frame
            return Gst.FlowReturn.OK
        try:
            self.decode(frame, outputs)
        except Exception as error:  # otherwise it would only be printed, and the stream would go on without objects
            self.message_full(Gst.MessageType.ERROR, Gst.stream_error_quark(), Gst.StreamError.DECODE, str(error), None,
                              __file__, "do_transform_ip", 0)
            return Gst.FlowReturn.ERROR
        return Gst.FlowReturn.OK

    def decode(self, frame, outputs):
        found = dvnn.objects(frame)
        labels = outputs.network.get_labels()
        width, height = self.size
        for label, score, *edges in rows_of(outputs):
            if score < self.threshold:
                return
            x0, y0, x1, y1 = outputs.to_frame(edges)
            found.add(labels[label], (max(x0, 0), max(y0, 0), min(x1, width), min(y1, height)), score, label)


GObject.type_register(Decoder)
__gstelementfactory__ = ("pydecode", Gst.Rank.NONE, Decoder)
