// SPDX-License-Identifier: Apache-2.0
#include "errors.h"

#include "base/format.h"

namespace dvnn::gst {
namespace {

struct DomainCode {
  GQuark domain;
  gint code;
};

DomainCode domain_code(Topic topic, ErrorCode code) {
  switch (code) {
    case ErrorCode::kNotFound:
      return {GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_NOT_FOUND};
    case ErrorCode::kIo:
      return {GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_OPEN_READ};
    case ErrorCode::kMalformed:
    case ErrorCode::kLimit:
    case ErrorCode::kUnsupported:
      if (topic == Topic::kFile) return {GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_OPEN_READ};
      if (topic == Topic::kSettings) return {GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_SETTINGS};
      return {GST_STREAM_ERROR, GST_STREAM_ERROR_WRONG_TYPE};
    case ErrorCode::kInvalidArgument:
      return {GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_SETTINGS};
    case ErrorCode::kDevice:
    case ErrorCode::kNoMemory:
      return {GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_FAILED};
    case ErrorCode::kCancelled:
    case ErrorCode::kInternal:
      break;
  }
  return {GST_LIBRARY_ERROR, GST_LIBRARY_ERROR_FAILED};
}

// Makes a text fit for a message: valid UTF-8, as strings in structures must be, and printable,
// because it may quote a file, caps or a path.
gchar* message_text(const std::string& text) noexcept {
  constexpr size_t kMost = 4000;
  try {
    return g_strdup(short_text(text, kMost).c_str());
  } catch (...) {  // no memory
    return g_utf8_make_valid(text.c_str(), -1);
  }
}

void post(GstElement* element, GstMessageType type, Topic topic, const Error& error,
          const std::string& debug, const CodePlace& place) {
  const DomainCode to = domain_code(topic, error.code);
  gst_element_message_full(element, type, to.domain, to.code, message_text(error.message),
                           debug.empty() ? nullptr : message_text(debug), place.file,
                           place.function, place.line);
}

}  // namespace

void post_error(GstElement* element, Topic topic, const Error& error, const std::string& debug,
                const CodePlace& place) {
  post(element, GST_MESSAGE_ERROR, topic, error, debug, place);
}

void post_warning(GstElement* element, Topic topic, const Error& error, const std::string& debug,
                  const CodePlace& place) {
  post(element, GST_MESSAGE_WARNING, topic, error, debug, place);
}

}  // namespace dvnn::gst
