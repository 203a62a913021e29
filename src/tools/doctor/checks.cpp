// SPDX-License-Identifier: Apache-2.0
#include "tools/doctor/checks.h"

#include <algorithm>

#include "base/json.h"

namespace dvnn::tools {

const char* to_string(Level level) {
  switch (level) {
    case Level::kOk:
      return "ok";
    case Level::kWarning:
      return "warning";
    case Level::kFailure:
      break;
  }
  return "failure";
}

OrderedJson findings_to_json(const Findings& findings) {
  OrderedJson list = OrderedJson::array();
  for (const Finding& finding : findings) {
    list.push_back({{"level", to_string(finding.level)},
                    {"topic", finding.topic},
                    {"says", finding.says},
                    {"remedy", finding.remedy}});
  }
  return list;
}

Findings findings_from_json(const std::string& text) {
  Findings findings;
  const auto list = parse_json(text, "the findings");
  if (!list.ok() || !list.value().is_array()) return findings;
  for (const Json& item : list.value()) {
    if (!item.is_object()) continue;
    Finding finding;
    const std::string level = item.value("level", "");
    for (const Level known : {Level::kOk, Level::kWarning, Level::kFailure}) {
      if (level == to_string(known)) finding.level = known;
    }
    finding.topic = item.value("topic", "");
    finding.says = item.value("says", "");
    finding.remedy = item.value("remedy", "");
    findings.push_back(std::move(finding));
  }
  return findings;
}

bool can_run(const Findings& findings) {
  return std::none_of(findings.begin(), findings.end(),
                      [](const Finding& f) { return f.level == Level::kFailure; });
}

std::string remedy_for_library(const std::string& why) {
  if (why.find("cannot open shared object file: Permission") != std::string::npos) {
    return "make the file readable for this user";
  }
  if (why.find("cannot open shared object file") != std::string::npos) {
    return "install the library that is named, or run ldconfig as root if it is in a folder of "
           "/etc/ld.so.conf.d";
  }
  if (why.find("undefined symbol") != std::string::npos ||
      why.find("version `") != std::string::npos) {
    return "libraries of different versions are mixed: install all of them again, then run "
           "ldconfig as root";
  }
  if (why.find("ELF") != std::string::npos || why.find("too short") != std::string::npos) {
    return "the file is damaged, or of another processor: install it again";
  }
  return {};
}

}  // namespace dvnn::tools
