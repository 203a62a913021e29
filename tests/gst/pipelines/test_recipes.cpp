// SPDX-License-Identifier: Apache-2.0
// Runs every recipe of docs/pipelines.md, with sources, sinks, encoders and networks that are here.
// And what its section on reconnecting says.
#include <fstream>

#include "watched_suite.h"

namespace dvnn::test::recipes_tests {

DVNN_WATCHED_SUITE(gst_recipes);

namespace {

struct Recipe {
  std::string title, line;
};

// `text` with `with` for everything that the pattern `what` finds.
std::string replaced(const std::string& text, const char* what, const std::string& with) {
  GRegex* pattern = g_regex_new(what, GRegexCompileFlags(0), GRegexMatchFlags(0), nullptr);
  ck_assert_msg(pattern, "'%s' is no pattern", what);
  gchar* result = g_regex_replace_literal(pattern, text.c_str(), -1, 0, with.c_str(),
                                          GRegexMatchFlags(0), nullptr);
  std::string copy = result;
  g_free(result);
  g_regex_unref(pattern);
  return copy;
}

// A line as GStreamer's parser gets it from gst-launch-1.0: the shell has taken its quotes away,
// and blanks within a word have a backslash.
std::string after_shell(const std::string& line) {
  gchar** words = nullptr;
  ck_assert_msg(g_shell_parse_argv(line.c_str(), nullptr, &words, nullptr), "no words: %s",
                line.c_str());
  std::string text;
  for (gchar** word = words; *word; ++word) {
    for (const char* c = *word; *c; ++c)
      text += *c == ' ' ? std::string("\\ ") : std::string(1, *c);
    text += " ";
  }
  g_strfreev(words);
  return text;
}

// Returns what stands between "```sh recipe" and "```", as one line, without the program's name.
std::vector<Recipe> recipes() {
  std::ifstream file(DVNN_PIPELINES_MD);
  ck_assert_msg(file.good(), "cannot read %s", DVNN_PIPELINES_MD);
  std::vector<Recipe> list;
  std::string title;
  bool inside = false;
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("#", 0) == 0) title = line;
    if (line == "```sh recipe") {
      inside = true;
      list.push_back({title, ""});
    } else if (line == "```") {
      inside = false;
    } else if (inside) {
      if (!line.empty() && line.back() == '\\') line.pop_back();
      list.back().line += line + " ";
    }
  }
  for (Recipe& recipe : list) {
    recipe.line = after_shell(replaced(recipe.line, "^gst-launch-1.0 (-\\S+ )*", ""));
  }
  return list;
}

// The same pipeline with what is here.
std::string substituted(std::string line) {
  auto replace = [&line](const char* what, const std::string& with) {
    line = replaced(line, what, with);
  };
  const std::string live = painted_source(24, "is-live=true", "src", 640, 480);
  const std::string file = painted_source(24, "", "src", 640, 480);
  replace("v4l2src *! *video/x-raw[^ ]* *! *", live);
  replace("rtspsrc [^!]*! *rtph264depay *! *h264parse *! *avdec_h264 *! *", live);
  replace("filesrc [^!]*! *decodebin *! *", file);
  replace("x264enc[^!]*! *h264parse *!", "jpegenc !");
  replace("filesink location=\\S+", "fakesink");
  replace("autovideosink", "fakesink sync=true");
  replace("network=cars.dvn", "network=" + grid_path(Looks::kRed));
  replace("network=faces.dvn", "network=" + grid_path(Looks::kBlue));
  // The default network is a real one: it would take its time.
  replace("dvinfer (?!network=)", "dvinfer network=" + grid_path(Looks::kRed) + " ");
  return line;
}

// Returns whether the recipe is for a newer GStreamer than the one that dvinfer was built with.
bool is_for_newer(const Recipe& recipe) {
  if (recipe.line.find("tensor-meta") == std::string::npos) return false;
  auto* element = GST_ELEMENT(gst_object_ref_sink(gst_element_factory_make("dvinfer", nullptr)));
  const bool has = g_object_class_find_property(G_OBJECT_GET_CLASS(element), "tensor-meta");
  gst_object_unref(element);
  if (!has) std::printf("skipped: %s: dvinfer has no tensor-meta\n", recipe.title.c_str());
  return !has;
}

// Calls `work` for every element that the factory made.
template <typename Work>
void for_each_of(GstElement* pipeline, const char* factory, Work work) {
  GstIterator* elements = gst_bin_iterate_recurse(GST_BIN(pipeline));
  GValue item = G_VALUE_INIT;
  while (gst_iterator_next(elements, &item) == GST_ITERATOR_OK) {
    auto* element = GST_ELEMENT(g_value_get_object(&item));
    const GstElementFactory* made_by = gst_element_get_factory(element);
    if (made_by && g_strcmp0(GST_OBJECT_NAME(made_by), factory) == 0) work(element);
    g_value_reset(&item);
  }
  g_value_unset(&item);
  gst_iterator_free(elements);
}

}  // namespace

DVNN_TEST(every_recipe_runs_to_its_end_and_infers) {
  const std::vector<Recipe> all = recipes();
  constexpr size_t kAtLeast = 10;
  ck_assert_uint_ge(all.size(), kAtLeast);
  for (const Recipe& recipe : all) {
    if (is_for_newer(recipe)) continue;
    const std::string line = substituted(recipe.line);
    for (const char* foreign : {"v4l2src", "rtspsrc", "filesrc", "x264enc", "autovideosink"}) {
      ck_assert_msg(line.find(foreign) == std::string::npos, "%s is left: %s", foreign,
                    line.c_str());
    }
    Pipeline pipeline(line);
    // No application pulls from the sink here.
    if (pipeline.get()) {
      for_each_of(pipeline.get(), "appsink",
                  [](GstElement* sink) { g_object_set(sink, "wait-on-eos", FALSE, nullptr); });
    }
    demand(&pipeline, pipeline.play_to_end(), recipe.title);
    size_t networks = 0;
    for_each_of(pipeline.get(), "dvinfer", [&](GstElement* element) {
      const guint64 inferred = stat_of(element, "inferred");
      networks += inferred > 0;
      demand(&pipeline, inferred > 0, recipe.title + ": nothing was inferred");
    });
    demand(&pipeline, networks > 0, recipe.title + ": no dvinfer");
    demand(&pipeline, pipeline.stop(), recipe.title);
  }
}

DVNN_TEST(a_source_that_fails_may_be_restarted_while_the_network_stays) {
  Pipeline pipeline("bin.( name=camera " + painted_source(1000000, "is-live=true") +
                    "queue ! identity name=fails error-after=20 ) ! " + "queue ! dvconvert ! " +
                    infer(Looks::kRed, "name=infer when-busy=pass") +
                    " ! dvdecode ! fakesink name=out async=false");
  demand(&pipeline, pipeline.get() != nullptr);
  // The bin's errors are its application's business: the pipeline does not hear of them.
  GstBus* bus = gst_element_get_bus(pipeline.get());
  gst_bus_set_sync_handler(
      bus,
      [](GstBus*, GstMessage* message, gpointer) {
        if (GST_MESSAGE_TYPE(message) != GST_MESSAGE_ERROR) return GST_BUS_PASS;
        gst_message_unref(message);
        return GST_BUS_DROP;
      },
      nullptr, nullptr);
  gst_object_unref(bus);
  // Neither does what is downstream hear of its end.
  auto* pad = GST_PAD(gst_object_ref(pipeline["camera"]->srcpads->data));
  gst_pad_add_probe(
      pad, GST_PAD_PROBE_TYPE_EVENT_DOWNSTREAM,
      [](GstPad*, GstPadProbeInfo* info, gpointer) {
        return GST_EVENT_TYPE(GST_PAD_PROBE_INFO_EVENT(info)) == GST_EVENT_EOS ? GST_PAD_PROBE_DROP
                                                                               : GST_PAD_PROBE_OK;
      },
      nullptr, nullptr);
  gst_object_unref(pad);
  demand(&pipeline, pipeline.set_state(GST_STATE_PLAYING));
  for (size_t round = 0; round < 4; ++round) {
    const size_t before = pipeline.count();
    demand(&pipeline,
           pipeline.run_until([&] { return pipeline.count() >= before + 15; }, "frames came"));
    g_usleep(300 * 1000);  // by now it has failed
    gst_element_set_state(pipeline["camera"], GST_STATE_NULL);
    gst_element_sync_state_with_parent(pipeline["camera"]);
  }
  const std::vector<Arrival> arrivals = pipeline.arrivals();
  demand(&pipeline, pipeline.stop());
  size_t inferred = 0;
  for (const Arrival& arrival : arrivals) {
    if (!arrival.passes.inferred) continue;
    ++inferred;
    expect_boxes_of_pixels({arrival}, 1, "a frame of a restarted source");
  }
  ck_assert_uint_ge(inferred, 40);
}

}  // namespace dvnn::test::recipes_tests
