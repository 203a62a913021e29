// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mosquitto.h>

namespace dvnn::test {

/// Returns whether the library outlives any answer: older ones are ended by some of MQTT 5
/// (src/publish/mqtt_transport.cpp).
inline bool the_library_bears_any_answer() {
  return mosquitto_lib_version(nullptr, nullptr, nullptr) >= 2000021;
}

}  // namespace dvnn::test
