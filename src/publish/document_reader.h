// SPDX-License-Identifier: Apache-2.0
// Reads lines that document.h has written. The one reader of documents: what it reads is written
// again as the same bytes. Lines may come from anywhere, so everything is checked.
#pragma once

#include <string>

#include "base/result.h"
#include "publish/document.h"

namespace dvnn::publish {

struct ReadDocument {
  Document document;
  Identity identity;  // without a topic
  uint64_t seq = 0;
  std::string fields;  // a JSON object as text, or empty
};

/// Reads a line of at most kMostLineBytes. Members that it does not know are skipped. Fails if the
/// version is not 1, a member has another type than in docs/schema/document-1.json, or the document
/// is a status. Throws std::bad_alloc.
Result<ReadDocument> read_line(const std::string& line);
constexpr size_t kMostLineBytes = size_t{16} << 20;

}  // namespace dvnn::publish
