// SPDX-License-Identifier: Apache-2.0
#include "agree/pattern.h"

#include <glib.h>

#include <utility>

#include "base/format.h"
#include "base/json.h"

namespace dvnn::agree {

struct Pattern::Compiled {
  GRegex* const regex;

  explicit Compiled(GRegex* taken) : regex(taken) {}
  ~Compiled() { g_regex_unref(regex); }
  Compiled(const Compiled&) = delete;
  Compiled& operator=(const Compiled&) = delete;
};

namespace {

constexpr size_t kMostBytes = 4096, kMostShown = 80;
// What a camera is shown must not cost seconds, whatever the pattern: beyond this many steps it
// does not match.
constexpr char kBounded[] = "(*LIMIT_MATCH=20000)";

Result<GRegex*> compile(const std::string& expression) {
  GError* error = nullptr;
  GRegex* regex = g_regex_new(expression.c_str(), G_REGEX_DEFAULT, G_REGEX_MATCH_DEFAULT, &error);
  if (regex) return regex;
  const Error refused = invalid_argument(short_text(error->message, 2 * kMostShown));
  g_error_free(error);
  return refused;
}

}  // namespace

Result<Pattern> Pattern::parse(const std::string& expression) {
  if (expression.size() > kMostBytes || !is_utf8(expression) ||
      expression.find('\0') != std::string::npos) {
    return invalid_argument(format("a pattern must be UTF-8 of at most %zu bytes", kMostBytes));
  }
  // First as it was written, so that errors name the place in it, and "a)|(b" is refused.
  DVNN_ASSIGN(GRegex * written, compile(expression));
  g_regex_unref(written);
  DVNN_ASSIGN(GRegex * whole, compile(kBounded + std::string("\\A(?:") + expression + ")\\z"));
  Pattern pattern;
  pattern.compiled_ = std::make_shared<const Compiled>(whole);
  return pattern;
}

bool Pattern::matches(const std::string& text) const {
  return g_regex_match_full(compiled_->regex, text.c_str(), static_cast<gssize>(text.size()), 0,
                            G_REGEX_MATCH_DEFAULT, nullptr, nullptr) != FALSE;
}

Result<Patterns> Patterns::parse(const std::string& text) {
  Patterns patterns;
  if (text.empty()) return patterns;
  if (text[0] != '{') {
    DVNN_ASSIGN(Pattern all, Pattern::parse(text));
    patterns.all_ = std::make_shared<const Pattern>(std::move(all));
    return patterns;
  }
  DVNN_ASSIGN(const Json by_label, parse_written_json(text, "the patterns"));
  for (const auto& [label, expression] : by_label.items()) {
    const std::string what = "the pattern of '" + short_text(label, kMostShown) + "'";
    if (!expression.is_string()) {
      return malformed(what + " is " + shown(expression) + ", must be a text");
    }
    auto pattern = Pattern::parse(expression.get<std::string>());
    if (!pattern.ok()) return pattern.error().within(what);
    patterns.by_label_.emplace(label, std::move(pattern.value()));
  }
  return patterns;
}

Error pattern_without_agree() {
  return invalid_argument(
      "it says what agreed texts look like, but 'agree' is 0: set it to 2, for example");
}

const Pattern* Patterns::find(const std::string& label) const {
  if (all_) return all_.get();
  const auto found = by_label_.find(label);
  return found != by_label_.end() ? &found->second : nullptr;
}

}  // namespace dvnn::agree
