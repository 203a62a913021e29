// SPDX-License-Identifier: Apache-2.0
#include "infer/queue/inferitem.h"

#include <utility>

#include "log.h"

DVNN_LOG_CATEGORY(queue_log, "dvqueue", "Order of frames and their runs in dvinfer")

namespace dvnn::gst {

ItemPtr split_off(InferItem* from, int64_t now_us) {
  auto item = std::make_shared<InferItem>();
  item->network = from->network;
  item->tensors = from->tensors;
  item->upstream_us = from->upstream_us;
  item->number = from->number;
  item->times = from->times;
  item->times.finished = now_us;
  item->object = std::move(from->object);
  return item;
}

GstDebugCategory* queue_category() {
  return queue_log();
}

}  // namespace dvnn::gst
