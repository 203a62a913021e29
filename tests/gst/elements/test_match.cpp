// SPDX-License-Identifier: Apache-2.0
// dvmatch: what it writes on objects and posts, its files, and its actions. Who is who is
// tests/match's.
#include <filesystem>
#include <fstream>

#include "gst/dvnn/gstdvobjectsmeta.h"
#include "publish/server_process.h"
#include "publish_harness.h"
#include "waiting.h"

namespace dvnn::test::match_element_tests {

DVNN_GST_SUITE(gst_match);

namespace {

const char* const kAda = "{\"dvnn-gallery\":1}\n{\"name\":\"Ada\",\"vectors\":[1,0,0]}\n";
const char* const kBob = "{\"dvnn-gallery\":1}\n{\"name\":\"Bob\",\"vectors\":[1,0,0]}\n";

void write(const std::string& path, const std::string& text) {
  std::ofstream(path + ".new") << text;
  std::filesystem::rename(path + ".new", path);
}

std::string read(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

struct Folder {
  Folder() {
    char path[] = "/tmp/dvnn-dvmatch-XXXXXX";
    name = mkdtemp(path);
  }
  ~Folder() { std::filesystem::remove_all(name); }
  std::string gallery() const { return name + "/gallery.jsonl"; }
  std::string strangers() const { return name + "/strangers.jsonl"; }
  std::string name;
};

class MatchHarness {
 public:
  explicit MatchHarness(const std::string& settings, const std::string& after = "") {
    harness_ = gst_harness_new_parse(("dvmatch name=m " + settings + after).c_str());
    gst_element_set_bus(harness_->element, bus_);
    gst_harness_set_src_caps_str(harness_, video_caps("GRAY8", kWidth, kHeight).c_str());
  }
  ~MatchHarness() {
    end();
    gst_object_unref(bus_);
  }
  MatchHarness(const MatchHarness&) = delete;
  MatchHarness& operator=(const MatchHarness&) = delete;

  void end() {
    if (!harness_) return;
    gst_harness_push_event(harness_, gst_event_new_eos());
    gst_element_set_bus(harness_->element, nullptr);
    gst_harness_teardown(harness_);
    harness_ = nullptr;
  }
  GstElement* element() const { return gst_bin_get_by_name(GST_BIN(harness_->element), "m"); }
  template <typename Value>
  void set(const char* property, Value value) {
    GstElement* m = element();
    g_object_set(m, property, value, nullptr);
    gst_object_unref(m);
  }
  template <typename Result, typename... Arguments>
  Result act(const char* action, Arguments... arguments) {
    GstElement* m = element();
    Result result{};
    g_signal_emit_by_name(m, action, arguments..., &result);
    gst_object_unref(m);
    return result;
  }

  // A frame with an object of this embedding; returns who it is: "Ada", "Ada?", "stranger 1", "".
  std::string see(guint64 track, std::vector<float> embedding, guint looks = 0) {
    GstBuffer* frame = PublishHarness::frame(number_++);
    GstDvObject* object = add_object(frame);
    object->track_id = track;
    gst_dv_object_set_box(object, 10, 20, 30, 60);
    gst_dv_object_set_embedding(object, embedding.data(), embedding.size());
    if (looks > 0) gst_dv_object_set_agreement(object, looks, 0.99f, TRUE);
    frame = gst_harness_push_and_pull(harness_, frame);
    const GstDvObject* seen =
        gst_dv_objects_meta_get_object(gst_buffer_get_dv_objects_meta(frame), 0);
    std::string who;
    if (const gchar* name = gst_dv_object_get_name(seen)) who = name;
    if (const guint64 stranger = gst_dv_object_get_stranger(seen)) {
      ck_assert(who.empty());
      who = "stranger " + std::to_string(stranger);
    }
    gboolean agreed = FALSE;
    ck_assert_int_eq(gst_dv_object_get_likeness(seen, nullptr, &agreed), !who.empty());
    if (!who.empty() && !agreed) who += "?";
    gst_buffer_unref(frame);
    return who;
  }
  // The next message of that name, as "recognised Ada 1 @100" or its text; waits for it.
  std::string message(const char* name) {
    for (;;) {
      GstMessage* message = gst_bus_timed_pop_filtered(bus_, 60 * GST_SECOND, GST_MESSAGE_ELEMENT);
      ck_assert_ptr_nonnull(message);
      const GstStructure* fields = gst_message_get_structure(message);
      std::string text;
      if (gst_structure_has_name(fields, name)) text = text_of(fields);
      all_ += std::string(gst_structure_get_name(fields)) + ": " + whole(fields) + "\n";
      gst_message_unref(message);
      if (!text.empty()) return text;
    }
  }
  std::string warning() {
    GstMessage* message = gst_bus_timed_pop_filtered(bus_, 60 * GST_SECOND, GST_MESSAGE_WARNING);
    ck_assert_ptr_nonnull(message);
    GError* error = nullptr;
    gst_message_parse_warning(message, &error, nullptr);
    const std::string text = error->message;
    g_error_free(error);
    gst_message_unref(message);
    return text;
  }
  const std::string& all_messages() const { return all_; }

 private:
  static std::string whole(const GstStructure* fields) {
    gchar* text = gst_structure_to_string(fields);
    const std::string all = text;
    g_free(text);
    return all;
  }
  static std::string text_of(const GstStructure* fields) {
    if (gst_structure_has_name(fields, "dvnn-gallery")) {
      guint people = 0;
      ck_assert(gst_structure_get_uint(fields, "people", &people));
      return std::to_string(people);
    }
    guint64 track = 0, time = 0, stranger = 0;
    gdouble likeness = -2;
    gboolean before = FALSE;
    ck_assert(gst_structure_get(fields, "track-id", G_TYPE_UINT64, &track, "running-time",
                                G_TYPE_UINT64, &time, "likeness", G_TYPE_DOUBLE, &likeness,
                                nullptr));
    ck_assert(likeness >= 0.5 && likeness <= 1.0001);
    std::string who;
    if (const gchar* name = gst_structure_get_string(fields, "name")) who = name;
    if (gst_structure_get_uint64(fields, "stranger", &stranger)) who = std::to_string(stranger);
    if (gst_structure_get_boolean(fields, "before", &before) && before) who += " again";
    return std::string(gst_structure_get_string(fields, "event")) + " " + who + " " +
           std::to_string(track) + " @" + std::to_string(time / GST_MSECOND);
  }

  GstHarness* harness_;
  GstBus* const bus_ = gst_bus_new();
  std::string all_;
  int number_ = 0;
};

}  // namespace

DVNN_TEST(a_track_is_named_once_its_looks_agree) {
  const Folder folder;
  write(folder.gallery(), kAda);
  MatchHarness h("gallery-file=" + folder.gallery());
  dvnn_assert_text(h.see(7, {1, 0.1f, 0}), "Ada?");
  dvnn_assert_text(h.see(7, {1, 0.1f, 0}), "Ada?");  // the same look
  dvnn_assert_text(h.see(7, {1, 0, 0.1f}), "Ada?");
  dvnn_assert_text(h.see(7, {1, 0.1f, 0.1f}), "Ada");
  dvnn_assert_text(h.see(8, {0, 1, 0}, 3), "stranger 1");
  dvnn_assert_text(h.see(9, {0, 1, 0.1f}, 3), "stranger 1");
  dvnn_assert_text(h.message("dvnn-identity"), "recognised Ada 7 @300");
  dvnn_assert_text(h.message("dvnn-identity"), "stranger 1 8 @400");
  dvnn_assert_text(h.message("dvnn-identity"), "stranger 1 again 9 @500");
}

DVNN_TEST(settings_count_from_the_next_frame_on) {
  const Folder folder;
  write(folder.gallery(), kAda);
  MatchHarness h("agree=1 gallery-file=" + folder.gallery());
  dvnn_assert_text(h.see(1, {1, 1, 0}), "Ada");
  h.set("threshold", 0.8);
  dvnn_assert_text(h.see(2, {1, 1, 0}), "stranger 1");
  h.set("labels", "car");
  dvnn_assert_text(h.see(3, {1, 0, 0}), "");
}

DVNN_TEST(the_gallery_is_live) {
  const Folder folder;
  write(folder.gallery(), kAda);
  MatchHarness h("agree=1 gallery-file=" + folder.gallery());
  dvnn_assert_text(h.see(1, {1, 0, 0}), "Ada");
  write(folder.gallery(), kBob);
  dvnn_assert_text(h.message("dvnn-gallery"), "1");
  dvnn_assert_text(h.see(1, {1, 0, 0}), "Bob");
  // A bad one: a warning with the line, and Bob stays.
  write(folder.gallery(), std::string(kAda) + "{\"name\":\"Eve\",\"vectors\":[1]}\n");
  const std::string warning = h.warning();
  ck_assert_msg(warning.find("gallery.jsonl', line 3") != std::string::npos, "%s", warning.c_str());
  dvnn_assert_text(h.see(1, {1, 0, 0}), "Bob");
  // Another file, by the property.
  write(folder.name + "/other.jsonl", kAda);
  h.set("gallery-file", (folder.name + "/other.jsonl").c_str());
  h.see(1, {1, 0, 0});
  dvnn_assert_text(h.message("dvnn-gallery"), "1");
  dvnn_assert_text(h.see(1, {1, 0, 0}), "Ada");
}

DVNN_TEST(actions_enrol_and_forget) {
  const Folder folder;
  write(folder.gallery(), "{\"dvnn-gallery\":1}\n");
  MatchHarness h("agree=1 gallery-file=" + folder.gallery() +
                 " strangers-location=" + folder.strangers());
  dvnn_assert_text(h.see(1, {1, 0, 0.5f}), "stranger 1");
  ck_assert_int_eq(h.act<gboolean>("enrol", guint64{1}, "Ada"), TRUE);
  dvnn_assert_text(h.see(1, {1, 0, 0.5f}), "Ada");
  ck_assert_ptr_nonnull(strstr(read(folder.gallery()).c_str(), "\"Ada\""));
  ck_assert_ptr_null(strstr(read(folder.strangers()).c_str(), "\"stranger\":"));
  ck_assert_int_eq(h.act<gboolean>("enrol", guint64{2}, "Bob"), FALSE);
  ck_assert_ptr_nonnull(strstr(h.warning().c_str(), "track 2 is not seen now"));
  ck_assert_int_eq(h.act<gboolean>("enrol", guint64{1}, ""), FALSE);
  ck_assert_ptr_nonnull(strstr(h.warning().c_str(), "must not be empty"));
  ck_assert_int_eq(h.act<gboolean>("forget", "Ada"), TRUE);
  ck_assert_int_eq(h.act<gboolean>("forget", "Ada"), FALSE);
  ck_assert_ptr_null(strstr(read(folder.gallery()).c_str(), "Ada"));
  dvnn_assert_text(h.see(1, {1, 0, 0.5f}), "stranger 2");
  ck_assert_uint_eq(h.act<guint>("forget-strangers", 1.0), 0);
  ck_assert_uint_eq(h.act<guint>("forget-strangers", 0.0), 1);
  ck_assert_ptr_null(strstr(read(folder.strangers()).c_str(), "\"stranger\":"));
}

DVNN_TEST(strangers_have_their_numbers_at_the_next_start) {
  const Folder folder;
  const std::string settings = "agree=1 strangers-location=" + folder.strangers();
  {
    MatchHarness h(settings);
    dvnn_assert_text(h.see(1, {1, 0, 0}), "stranger 1");
    dvnn_assert_text(h.see(2, {0, 1, 0}), "stranger 2");
  }
  MatchHarness h(settings);
  dvnn_assert_text(h.see(1, {0, 1, 0.1f}), "stranger 2");
  dvnn_assert_text(h.see(2, {0, 0, 1}), "stranger 3");
  dvnn_assert_text(h.message("dvnn-identity"), "stranger 2 again 1 @0");
}

DVNN_TEST(a_gallery_of_another_network_is_warned_of_once) {
  const Folder folder;
  write(folder.gallery(), kAda);
  MatchHarness h("agree=1 gallery-file=" + folder.gallery());
  dvnn_assert_text(h.see(1, {1, 0}), "");
  dvnn_assert_text(h.see(1, {1, 0.1f}), "");
  ck_assert_ptr_nonnull(strstr(h.warning().c_str(), "embeddings have 2 numbers, the gallery's 3"));
  write(folder.gallery(), kBob);
  h.message("dvnn-gallery");
  h.see(1, {1, 0.2f});
  h.warning();
}

// Documents tell names, and no vectors unless dvpublish is asked for embeddings; messages never do.
DVNN_TEST(documents_and_messages_have_names_and_no_vectors) {
  const Folder folder;
  write(folder.gallery(), "{\"dvnn-gallery\":1}\n{\"name\":\"Ada\",\"vectors\":[0.48,0.64,0.6]}\n");
  const std::string out = folder.name + "/out";
  MatchHarness h("agree=1 gallery-file=" + folder.gallery(),
                 " ! dvpublish stream=cam mode=frames+events location=" + out);
  dvnn_assert_text(h.see(7, {0.48f, 0.64f, 0.6f}), "Ada");
  dvnn_assert_text(h.see(8, {0.64f, -0.48f, 0.0625f}), "stranger 1");
  h.message("dvnn-identity");
  h.message("dvnn-identity");
  h.end();
  const std::string documents = read(out);
  ck_assert_ptr_nonnull(strstr(documents.c_str(),
                               "\"identity\":{\"name\":\"Ada\",\"likeness\":1.0,\"agreed\":true}"));
  ck_assert_ptr_nonnull(strstr(documents.c_str(), "\"kind\":\"recognised\",\"track_id\":7"));
  ck_assert_ptr_nonnull(strstr(documents.c_str(), "\"name\":\"Ada\",\"likeness\":1.0}"));
  ck_assert_ptr_nonnull(
      strstr(documents.c_str(), "\"stranger\":1,\"likeness\":1.0,\"before\":false}"));
  for (const std::string* text : {&documents, &h.all_messages()}) {
    for (const char* part : {"embedding", "vectors", "0.48,", "0.0625", "0.64,"}) {
      ck_assert_msg(text->find(part) == std::string::npos, "'%s' in %s", part, text->c_str());
    }
  }
}

#ifdef DVNN_HAVE_MQTT
// Two cameras and a broker. Each waits for the message that others have changed its gallery.
DVNN_TEST(cameras_share_names_strangers_and_what_is_forgotten) {
  if (!there_is_a_broker()) return;
  const Folder folder;
  const OwnPort port;
  write(folder.name + "/conf", "listener " + std::to_string(port.number()) +
                                   " 127.0.0.1\nallow_anonymous true\nlog_dest none\nuser root\n");
  ServerProcess broker({kMosquitto, "-c", folder.name + "/conf"}, port.number());
  broker.start();
  write(folder.gallery(), "{\"dvnn-gallery\":1}\n");
  const std::string url = " share-url=mqtt://127.0.0.1:" + std::to_string(port.number());
  MatchHarness door("agree=1 gallery-file=" + folder.gallery() + url);
  MatchHarness yard("agree=1" + url);
  // A stranger at the door has the same number in the yard.
  const std::string stranger = door.see(1, {1, 0, 0});
  ck_assert_uint_eq(stranger.size(), strlen("stranger 123456789"));
  dvnn_assert_text(yard.message("dvnn-gallery"), "0");
  dvnn_assert_text(yard.see(1, {1, 0.1f, 0}), stranger.c_str());
  // One is enrolled in the yard, and known at the door.
  yard.see(2, {0, 1, 0});
  ck_assert_int_eq(yard.act<gboolean>("enrol", guint64{2}, "Ada"), TRUE);
  while (door.message("dvnn-gallery") != "1") continue;
  dvnn_assert_text(door.see(2, {0, 1, 0}), "Ada");
  // To be forgotten at the door is to be forgotten in the yard.
  ck_assert_int_eq(door.act<gboolean>("forget", "Ada"), TRUE);
  while (yard.message("dvnn-gallery") != "0") continue;
  ck_assert_ptr_null(strstr(yard.see(2, {0, 1, 0}).c_str(), "Ada"));
  door.end();
  ck_assert_ptr_nonnull(strstr(read(folder.gallery()).c_str(), "\"forgotten\""));
  ck_assert_ptr_null(strstr(read(folder.gallery()).c_str(), "Ada"));
}
#endif

DVNN_TEST(a_bad_gallery_is_an_error_at_the_start) {
  const Folder folder;
  write(folder.gallery(), "{}");
  GstElement* element = gst_element_factory_make("dvmatch", nullptr);
  gst_object_ref_sink(element);
  GstBus* bus = gst_bus_new();
  gst_element_set_bus(element, bus);
  g_object_set(element, "gallery-file", folder.gallery().c_str(), nullptr);
  ck_assert_int_eq(gst_element_set_state(element, GST_STATE_READY), GST_STATE_CHANGE_FAILURE);
  GstMessage* message = gst_bus_pop_filtered(bus, GST_MESSAGE_ERROR);
  ck_assert_ptr_nonnull(message);
  GError* error = nullptr;
  gst_message_parse_error(message, &error, nullptr);
  ck_assert_ptr_nonnull(strstr(error->message, "gallery.jsonl', line 1"));
  g_error_free(error);
  gst_message_unref(message);
  gst_element_set_state(element, GST_STATE_NULL);
  gst_element_set_bus(element, nullptr);
  gst_object_unref(bus);
  gst_object_unref(element);
}

}  // namespace dvnn::test::match_element_tests
