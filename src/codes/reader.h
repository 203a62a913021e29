// SPDX-License-Identifier: Apache-2.0
// Reads QR codes, EAN-13 and Code 128 by ZBar.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "codes/luma.h"

namespace dvnn::codes {

/// Longer texts are cut. The largest QR code holds 7,089 digits.
constexpr size_t kMostTextBytes = 8192;

/// Makes a stranger's text harmless, as printable() does, and puts it in one line: ends of lines
/// and tabs become spaces.
std::string harmless_text(std::string bytes);

struct Reading {
  std::string text;    // harmless
  std::string format;  // "QR-Code", "EAN-13", "CODE-128"
};

/// For one thread at a time.
class Reader {
 public:
  Reader();
  ~Reader();
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  /// Reads the picture's code; of several, the one whose middle is nearest to the picture's, if
  /// that lies within the `core` around it, a share of its width and height. A code that cannot be
  /// read as it lies is tried larger, and turned.
  std::optional<Reading> read(const Luma& picture, double core);

 private:
  struct Scanner;

  std::unique_ptr<Scanner> scanner_;
  Luma turned_;
};

}  // namespace dvnn::codes
