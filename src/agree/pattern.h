// SPDX-License-Identifier: Apache-2.0
// What texts on objects look like, such as a country's number plates.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "base/result.h"

namespace dvnn::agree {

/// A regular expression, Perl's syntax, that a whole text must match.
class Pattern {
 public:
  /// Refuses, with the place in it, an expression that is malformed.
  static Result<Pattern> parse(const std::string& expression);
  /// Whether it matches all of `text`, which is UTF-8.
  bool matches(const std::string& text) const;

 private:
  struct Compiled;
  std::shared_ptr<const Compiled> compiled_;
};

/// Patterns by the label of the object that has the text.
class Patterns {
 public:
  /// Reads one expression for all labels, or a JSON object of expressions by label. Empty: none.
  static Result<Patterns> parse(const std::string& text);
  /// Returns the pattern for texts on objects with that label; null: any text will do.
  const Pattern* find(const std::string& label) const;

 private:
  std::shared_ptr<const Pattern> all_;
  std::map<std::string, Pattern> by_label_;
};

/// The error of a pattern where looks are not compared, so that it would mean nothing.
Error pattern_without_agree();

}  // namespace dvnn::agree
