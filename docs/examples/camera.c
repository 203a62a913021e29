/* SPDX-License-Identifier: Apache-2.0
 *
 * Prints time, label, confidence and box of each object that a camera sees.
 *
 *   cc camera.c -o camera $(pkg-config --cflags --libs gst-dvnn-1.0)
 *   camera [SOURCE [FILE.dvn]]
 *
 * SOURCE is a camera (default: /dev/video0), a video file, or "test" for a test pattern.
 */
#include <glib-unix.h>
#include <gst/dvnn/gstdvobjectsmeta.h>
#include <gst/gst.h>

/* The state that main() waits on. */
typedef struct {
  GMainLoop* loop;
  int status;
} Ending;

/* Called for each frame that leaves dvdecode, in the streaming thread: it must not take long. */
static GstPadProbeReturn print_objects(GstPad* pad, GstPadProbeInfo* info, gpointer data) {
  GstBuffer* frame = GST_PAD_PROBE_INFO_BUFFER(info);
  GstDvObjectsMeta* meta = gst_buffer_get_dv_objects_meta(frame);
  guint i;

  (void)pad;
  (void)data;
  for (i = 0; meta && i < gst_dv_objects_meta_get_n_objects(meta); ++i) {
    const GstDvObject* found = gst_dv_objects_meta_get_object(meta, i);
    g_print("%.3f %s %.2f %.1f %.1f %.1f %.1f\n", (double)GST_BUFFER_PTS(frame) / GST_SECOND,
            found->label, (double)found->confidence, found->x0, found->y0, found->x1, found->y1);
  }
  return GST_PAD_PROBE_OK;
}

/* Handles the messages of elements and of the pipeline. */
static gboolean take_message(GstBus* bus, GstMessage* message, gpointer data) {
  Ending* ending = data;
  GError* error = NULL;
  gchar* details = NULL;

  (void)bus;
  switch (GST_MESSAGE_TYPE(message)) {
    case GST_MESSAGE_ERROR:
      gst_message_parse_error(message, &error, &details);
      /* The first error is the cause; others follow from it. */
      if (ending->status == 0)
        g_printerr("error: %s\n%s\n", error->message, details ? details : "");
      ending->status = 1;
      g_main_loop_quit(ending->loop);
      break;
    case GST_MESSAGE_WARNING:
      gst_message_parse_warning(message, &error, &details);
      g_printerr("warning: %s\n", error->message);
      break;
    case GST_MESSAGE_EOS:
      g_main_loop_quit(ending->loop);
      break;
    default:
      break;
  }
  g_clear_error(&error);
  g_free(details);
  return G_SOURCE_CONTINUE;
}

static gboolean stop(gpointer data) {
  g_main_loop_quit(((Ending*)data)->loop);
  return G_SOURCE_CONTINUE;
}

/* Returns the pipeline, or NULL with a message. */
static GstElement* build(const char* source, const char* network) {
  const gboolean is_camera = g_str_has_prefix(source, "/dev/");
  const gboolean is_test = g_str_equal(source, "test");
  const char* head = is_test     ? "videotestsrc num-buffers=100"
                     : is_camera ? "v4l2src name=source"
                                 : "filesrc name=source ! decodebin";
  gchar* line =
      g_strconcat(head,
                  " ! videoconvert ! dvconvert ! dvinfer name=infer ! dvdecode name=decode !"
                  " fakesink",
                  NULL);
  GError* error = NULL;
  GstElement* pipeline = gst_parse_launch(line, &error);
  GstElement* element;

  g_free(line);
  if (error) { /* an element is missing */
    g_printerr("error: %s (`dvnet doctor` knows more)\n", error->message);
    g_clear_error(&error);
    gst_clear_object(&pipeline);
    return NULL;
  }
  /* Names are set as properties, because spaces would have to be escaped in the description. */
  if (!is_test) {
    element = gst_bin_get_by_name(GST_BIN(pipeline), "source");
    g_object_set(element, is_camera ? "device" : "location", source, NULL);
    gst_object_unref(element);
  }
  if (network) {
    element = gst_bin_get_by_name(GST_BIN(pipeline), "infer");
    g_object_set(element, "network", network, NULL);
    gst_object_unref(element);
  }
  return pipeline;
}

static void watch_frames(GstElement* pipeline) {
  GstElement* decode = gst_bin_get_by_name(GST_BIN(pipeline), "decode");
  GstPad* pad = gst_element_get_static_pad(decode, "src");

  gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_BUFFER, print_objects, NULL, NULL);
  gst_object_unref(pad);
  gst_object_unref(decode);
}

int main(int argc, char** argv) {
  Ending ending = {NULL, 0};
  GstElement* pipeline;
  GstBus* bus;

  gst_init(&argc, &argv);
  pipeline = build(argc > 1 ? argv[1] : "/dev/video0", argc > 2 ? argv[2] : NULL);
  if (!pipeline) return 1;
  watch_frames(pipeline);
  ending.loop = g_main_loop_new(NULL, FALSE);
  bus = gst_element_get_bus(pipeline);
  gst_bus_add_watch(bus, take_message, &ending);
  g_unix_signal_add(SIGINT, stop, &ending);
  /* If this fails, the bus has the reason. A program that ignores the result waits for ever. */
  if (gst_element_set_state(pipeline, GST_STATE_PLAYING) == GST_STATE_CHANGE_FAILURE) {
    while (g_main_context_iteration(NULL, FALSE)) continue;
    ending.status = 1;
  } else {
    g_main_loop_run(ending.loop);
  }
  gst_element_set_state(pipeline, GST_STATE_NULL);
  gst_bus_remove_watch(bus);
  gst_object_unref(bus);
  gst_object_unref(pipeline);
  g_main_loop_unref(ending.loop);
  return ending.status;
}
