// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mosquitto.h>

namespace dvnn::test {

/// Returns whether libmosquitto survives any answer; some answers of MQTT 5 end older versions
/// (src/publish/transports/mqtt_transport.cpp).
inline bool the_library_bears_any_answer() {
  return mosquitto_lib_version(nullptr, nullptr, nullptr) >= 2000021;
}

}  // namespace dvnn::test
