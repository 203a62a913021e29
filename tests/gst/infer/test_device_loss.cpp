// SPDX-License-Identifier: Apache-2.0
// A device that does not answer until the pipeline is gone, if ever.
#include "fault_plan.h"
#include "waiting.h"
#include "watched_suite.h"

namespace dvnn::test::device_loss_tests {

DVNN_WATCHED_SUITE(gst_device_loss);

DVNN_TEST(null_returns_while_the_device_hangs_for_good) {
  Gate gone;  // the element
  {
    FaultPlan faults("");
    Pipeline pipeline(painted_source(1000000) + "dvconvert ! " +
                      infer(Looks::kRed, "name=infer watchdog-ms=300 " + FaultPlan::device()) +
                      " ! dvdecode ! fakesink name=out async=false");
    g_object_weak_ref(
        G_OBJECT(pipeline["infer"]),
        [](gpointer gate, GObject*) { static_cast<Gate*>(gate)->open(); }, &gone);
    demand(&pipeline, pipeline.set_state(GST_STATE_PAUSED));
    faults.set("exec:3:hang");
    const bool ended = pipeline.play_to_end();
    const bool stopped = pipeline.stop();  // the device still hangs
    const std::string problem = pipeline.problem();
    faults.release();
    ck_assert(!ended);
    ck_assert_msg(stopped, "%s", problem.c_str());
  }
  // Now that the device has answered, the thread that it held lets go of the element.
  gone.wait();
}

DVNN_TEST(a_pipeline_plays_again_when_the_device_is_back) {
  FaultPlan faults("");
  const std::string description = painted_source(30) + "dvconvert ! " +
                                  infer(Looks::kRed, "watchdog-ms=300 " + FaultPlan::device()) +
                                  " ! dvdecode ! fakesink name=out async=false";
  Pipeline pipeline(description);
  demand(&pipeline, pipeline.set_state(GST_STATE_READY));
  faults.set("exec:3+:hang");
  const bool ended = pipeline.play_to_end();
  const bool stopped = pipeline.stop();
  const std::string problem = pipeline.problem();
  faults.release();
  ck_assert(!ended);
  ck_assert_msg(stopped, "%s", problem.c_str());
  play_and_expect_boxes(description, 30);
}

}  // namespace dvnn::test::device_loss_tests
