// SPDX-License-Identifier: Apache-2.0
// Run with a vendor's library on the search path that gives no context (DVNN_FAULT): what "auto"
// makes of it.
#include "device/device.h"
#include "gst_fixture.h"
#include "played_line.h"

namespace dvnn::test::fallback_tests {

DVNN_GST_SUITE(gst_fallback);

namespace {

PlayedLine play_on(const std::string& device) {
  return play_line(
      "videotestsrc num-buffers=3 ! video/x-raw,format=RGB,width=64,height=64 ! "
      "dvconvert ! dvinfer name=infer network=" +
      network_path() + " device=" + device + " ! dvdecode ! fakesink");
}

}  // namespace

DVNN_TEST(the_device_knows_what_it_stands_in_for) {
  const auto device = dvnn::device::Device::open("auto");
  ck_assert(device.ok());
  dvnn_assert_text(device.value()->name(), "soft");
  const auto& passed = device.value()->passed_over();
  ck_assert_uint_eq(passed.size(), 1);
  dvnn_assert_text(passed[0].library, "libdmpdv.so");
  ck_assert(passed[0].why.find("fails as planned") != std::string::npos);
  const auto fpga = dvnn::device::Device::open("fpga");
  ck_assert(!fpga.ok() && fpga.error().code == dvnn::ErrorCode::kDevice);
  const auto soft = dvnn::device::Device::open("soft");
  ck_assert(soft.ok() && soft.value()->passed_over().empty());
}

DVNN_TEST(what_auto_passes_over_is_warned_of) {
  const PlayedLine played = play_on("auto");
  dvnn_assert_text(played.error, "");
  dvnn_assert_text(played.device, "soft");
  ck_assert_uint_eq(played.warnings.size(), 1);
  ck_assert_int_eq(played.count("libdmpdv.so does not work"), 1);
  ck_assert_int_eq(played.count("fails as planned"), 1);
  // Another element that shares the network posts the warning as well.
  ck_assert_uint_eq(play_on("auto").warnings.size(), 1);
}

DVNN_TEST(who_asks_for_the_software_device_is_not_warned) {
  const PlayedLine played = play_on("soft");
  dvnn_assert_text(played.error, "");
  ck_assert(played.warnings.empty());
}

DVNN_TEST(who_asks_for_the_vendors_library_gets_an_error) {
  const PlayedLine played = play_on("fpga");
  ck_assert(played.error.find("fails as planned") != std::string::npos);
  dvnn_assert_text(played.device, "");
}

}  // namespace dvnn::test::fallback_tests
