// SPDX-License-Identifier: Apache-2.0
// Loading a network may take long: a caller that no longer wants it does not wait for it.
#include <memory>
#include <thread>

#include "base/json.h"
#include "hostile_chain.h"
#include "network_file.h"
#include "seconds_of.h"

namespace dvnn::test::given_up_loads_tests {

namespace {

// A network that takes seconds to be planned for another size.
const NetworkFile& slow_network() {
  static const NetworkFile file(network_of_nodes(60000, [](size_t) -> dvnn::Json {
    return {{"op", "activation"},
            {"run", {{"m", 3}, {"activation", {{"kind", "relu"}, {"param", 0}}}}}};
  }));
  return file;
}

constexpr gulong kUnderWay = 300 * 1000;  // microseconds: in the middle of the load

// Processor time, because other tests run beside this one: half of what the whole load takes, in
// seconds.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr double kAtOnce = 20;
#else
constexpr double kAtOnce = 2;
#endif

// Waits for a fifth of a second in which the process uses almost no processor time.
void wait_for_rest() {
  while (processor_seconds_of([] { g_usleep(G_USEC_PER_SEC / 5); }) > 0.01) continue;
}

// A dvinfer that plays, and loads the slow network meanwhile.
class LoadingChain : public HostileChain {
 public:
  LoadingChain() : HostileChain(infer_grid(), video_caps("RGB", 64, 64)) {
    dvnn_assert_text(push(exact_frame(video_info("RGB", 64, 64))), "");
    g_object_set(infer_.get(), "input-size", "16x16", "network", slow_network().path.c_str(),
                 nullptr);
    g_usleep(kUnderWay);
  }
  GstElement* infer() const { return infer_.get(); }

 private:
  const std::unique_ptr<GstElement, void (*)(gpointer)> infer_{
      gst_harness_find_element(harness(), "dvinfer"), gst_object_unref};
};

}  // namespace

static int run_with_slow_network(const char* name, const std::vector<const TTest*>& tests) {
  slow_network();
  return run_gst_suite(name, tests);
}

DVNN_SUITE_RUN_BY(run_with_slow_network, given_up_loads);

DVNN_TEST(going_to_null_ends_a_load_while_playing) {
  LoadingChain chain;
  GstElement* infer = chain.infer();
  const double spent = processor_seconds_of([&] { gst_element_set_state(infer, GST_STATE_NULL); });
  ck_assert_msg(spent < kAtOnce, "NULL took %.2f s", spent);
  dvnn_assert_text(chain.take_error(), "");
}

DVNN_TEST(another_network_ends_the_load_of_the_one_before) {
  LoadingChain chain;
  GstElement* infer = chain.infer();
  // Back to the network in use: nothing needs to be loaded.
  g_object_set(infer, "input-size", "", "network", network_path().c_str(), nullptr);
  const double spent = processor_seconds_of(wait_for_rest);
  ck_assert_msg(spent < kAtOnce, "something was under way for %.2f s", spent);
}

DVNN_TEST(null_ends_the_load_that_a_change_of_state_waits_for) {
  GstElement* infer = gst_element_factory_make("dvinfer", nullptr);
  g_object_set(infer, "device", "soft", "input-size", "16x16", "network",
               slow_network().path.c_str(), nullptr);
  std::thread upwards([&] { gst_element_set_state(infer, GST_STATE_READY); });
  g_usleep(kUnderWay);
  const double spent = seconds_of([&] { gst_element_set_state(infer, GST_STATE_NULL); });
  upwards.join();
  gst_element_set_state(infer, GST_STATE_NULL);
  gst_object_unref(infer);
  ck_assert_msg(spent < kAtOnce, "NULL took %.2f s", spent);
}

}  // namespace dvnn::test::given_up_loads_tests
