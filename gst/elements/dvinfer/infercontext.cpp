// SPDX-License-Identifier: Apache-2.0
#include "elements/dvinfer/infercontext.h"

#include <utility>

#include "refs.h"

namespace dvnn::gst {

InferSettings InferContext::settings() const {
  const ObjectLock lock(element_);
  return settings_;
}

InferRules InferContext::rules() const {
  const ObjectLock lock(element_);
  return settings_;
}

void InferContext::restore_network(const NetworkSettings& of) {
  const ObjectLock lock(element_);
  settings_.restore_network(of);
}

std::shared_ptr<InferQueue> InferContext::queue() const {
  const ObjectLock lock(element_);
  return queue_;
}

std::shared_ptr<InferQueue> InferContext::exchange_queue(std::shared_ptr<InferQueue> queue) {
  const ObjectLock lock(element_);
  return std::exchange(queue_, std::move(queue));
}

void InferContext::post_error(Topic topic, const Error& error, const CodePlace& place) const {
  const InferSettings s = settings();
  gst::post_error(element_, topic, error,
                  "network=" + s.network + " weights-file=" + s.weights_file +
                      " input-size=" + s.input_size + " device=" + s.device,
                  place);
}

void InferContext::post_warning(Topic topic, const Error& error, const std::string& debug,
                                const CodePlace& place) const {
  gst::post_warning(element_, topic, error, debug, place);
}

}  // namespace dvnn::gst
