// SPDX-License-Identifier: Apache-2.0
// Reads QR codes, EAN-13 and Code 128 by ZBar.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "codes/luma.h"

namespace dvnn::codes {

/// Limit of a text's length; longer texts are cut. The largest QR code holds 7,089 digits.
constexpr size_t kMostTextBytes = 8192;

/// Makes untrusted text printable, as printable() does, and puts it on one line: line ends and tabs
/// become spaces.
std::string harmless_text(std::string bytes);

struct Reading {
  std::string text;    // harmless
  std::string format;  // "QR-Code", "EAN-13", "CODE-128"
};

/// Used by one thread at a time.
class Reader {
 public:
  Reader();
  ~Reader();
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  /// Reads the code whose centre is nearest to the picture's, if that is within `core`, a share of
  /// the picture's width and height around the centre. If there is none, tries the picture enlarged
  /// and turned.
  std::optional<Reading> read(const Luma& picture, double core);

 private:
  struct Scanner;

  std::unique_ptr<Scanner> scanner_;
  Luma turned_;
};

}  // namespace dvnn::codes
