// SPDX-License-Identifier: Apache-2.0
// A dvdecode alone, with a bus for what it posts.
#pragma once

#include "gst_fixture.h"

namespace dvnn::test {

class DecodeHarness {
 public:
  DecodeHarness() { gst_element_set_bus(harness_->element, bus_); }
  ~DecodeHarness() {
    gst_element_set_bus(harness_->element, nullptr);
    gst_harness_teardown(harness_);
    gst_object_unref(bus_);
  }
  DecodeHarness(const DecodeHarness&) = delete;
  DecodeHarness& operator=(const DecodeHarness&) = delete;

  GstHarness* get() const { return harness_; }
  GstHarness* operator->() const { return harness_; }
  GstBus* bus() const { return bus_; }

 private:
  GstHarness* const harness_ = gst_harness_new("dvdecode");
  GstBus* const bus_ = gst_bus_new();
};

}  // namespace dvnn::test
