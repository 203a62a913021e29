// SPDX-License-Identifier: Apache-2.0
#include "base/json.h"

#include <algorithm>
#include <set>
#include <sstream>
#include <vector>

#include "base/format.h"

namespace dvnn {
namespace {

// Says where the last byte is that a parser has taken from the stream.
std::string place_in(const std::string& text, const std::istringstream& stream) {
  const auto left = static_cast<size_t>(std::max<std::streamsize>(0, stream.rdbuf()->in_avail()));
  const size_t taken = text.size() - left, last = taken > 0 ? taken - 1 : 0;
  const auto line =
      std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(last), '\n');
  const size_t before = last > 0 ? text.rfind('\n', last - 1) : std::string::npos;
  const size_t begin = before == std::string::npos ? 0 : before + 1;
  return format("line %lld, column %zu", static_cast<long long>(line) + 1, last - begin + 1);
}

}  // namespace

Result<Json> parse_written_json(const std::string& text, const std::string& what) {
  constexpr size_t kMostShownBytes = 67;  // of a name
  DVNN_TRY(check_json_extent(text, what));
  std::istringstream stream(text);
  std::vector<std::set<std::string>> names;  // of the objects that are being read
  std::string twice;
  const auto look = [&](int, Json::parse_event_t event, const Json& value) {
    if (event == Json::parse_event_t::object_start) names.emplace_back();
    if (event == Json::parse_event_t::object_end) names.pop_back();
    if (event != Json::parse_event_t::key || !twice.empty()) return true;
    const auto& name = value.get_ref<const std::string&>();
    if (!names.back().insert(name).second) {
      twice = place_in(text, stream) + ": '" + short_text(name, kMostShownBytes) +
              "' stands twice in this object";
    }
    return true;
  };
  try {
    // Without exceptions the parser reads on behind a mistake.
    Json value = Json::parse(stream, look);
    if (!twice.empty()) return malformed(what + ", " + twice);
    return value;
  } catch (const Json::exception&) {
    return malformed(what + " is not JSON: " + place_in(text, stream));
  }
}

std::string place_of_value(const std::string& text, const std::vector<std::string>& path) {
  if (path.empty() || text.find('\n') == std::string::npos) return "";
  // The names and indices on the way to the value that is being read, and whether each stands for
  // an element of an array.
  struct Step {
    bool in_array = false;
    std::string name;
    size_t index = 0;
  };
  std::vector<Step> steps;
  std::istringstream stream(text);
  std::string found;
  const auto is_there = [&] {
    if (steps.size() != path.size()) return false;
    for (size_t i = 0; i < path.size(); ++i) {
      const Step& step = steps[i];
      if (path[i] != (step.in_array ? std::to_string(step.index) : step.name)) return false;
    }
    return true;
  };
  const auto note = [&] {
    if (found.empty() && is_there()) found = place_in(text, stream);
  };
  const auto next = [&] {
    if (!steps.empty() && steps.back().in_array) ++steps.back().index;
  };
  const auto look = [&](int, Json::parse_event_t event, const Json& value) {
    switch (event) {
      case Json::parse_event_t::object_start:
      case Json::parse_event_t::array_start:
        note();
        steps.push_back({event == Json::parse_event_t::array_start, "", 0});
        break;
      case Json::parse_event_t::object_end:
      case Json::parse_event_t::array_end:
        steps.pop_back();
        next();
        break;
      case Json::parse_event_t::key:
        steps.back().name = value.get_ref<const std::string&>();
        note();
        break;
      case Json::parse_event_t::value:
        note();
        next();
        break;
    }
    return true;
  };
  try {
    [[maybe_unused]] const Json read = Json::parse(stream, look);
  } catch (const Json::exception&) {
    return "";
  }
  return found;
}

}  // namespace dvnn
