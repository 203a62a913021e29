// SPDX-License-Identifier: Apache-2.0
#include "meta/exchange/labelquark.h"

#include <atomic>
#include <cstring>

namespace dvnn::gst {
namespace {

constexpr size_t kMaxLabelLength = 256;
constexpr int kMaxLabels = 65536;  // the number of labels that a network file may have

}  // namespace

GQuark label_quark(const gchar* label) {
  static const GQuark other = g_quark_from_static_string("object");
  static std::atomic<int> count{0};
  if (!label || strnlen(label, kMaxLabelLength + 1) > kMaxLabelLength) return other;
  if (const GQuark known = g_quark_try_string(label)) return known;
  return count++ < kMaxLabels ? g_quark_from_string(label) : (count = kMaxLabels, other);
}

bool is_quark_of(GQuark quark, const gchar* label) {
  const gchar* text = g_quark_to_string(quark);
  return text && label && (std::strcmp(text, label) == 0 || std::strcmp(text, "object") == 0);
}

}  // namespace dvnn::gst
