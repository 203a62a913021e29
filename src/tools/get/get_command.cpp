// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <initializer_list>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "base/format.h"
#include "base/json.h"
#include "tools/commands.h"
#include "tools/get/models.h"
#include "tools/options.h"

namespace dvnn::tools {
namespace {

using ListedModels = std::vector<ListedModel>;

constexpr double kMegabyte = 1e6;

// --- list -------------------------------------------------------------------------------------

struct ModelFilter {
  std::string finds, licence;  // parts of the texts, whatever their case
  double megabytes = 0;        // 0: any size
  double milliseconds = 0;     // 0: any time, also an unknown one

  bool wants(const ListedModel& model) const {
    const auto has = [](const std::string& text, const std::string& part) {
      return lower_case(text).find(lower_case(part)) != std::string::npos;
    };
    return has(model.finds, finds) && has(model.licence, licence) &&
           (megabytes == 0 || static_cast<double>(model.bytes()) <= megabytes * kMegabyte) &&
           (milliseconds == 0 || (model.board_ms > 0 && model.board_ms <= milliseconds));
  }
};

OrderedJson listed_json(const ListedModel& model) {
  OrderedJson files = OrderedJson::array(), convert = OrderedJson::object();
  for (const ModelFile& file : model.files) {
    files.push_back(
        {{"name", file.name}, {"bytes", file.bytes}, {"sha256", file.sha256}, {"urls", file.urls}});
  }
  for (const auto& [option, value] : model.convert) convert[option] = value;
  return {{"name", model.name},
          {"finds", model.finds},
          {"licence", model.licence},
          {"source", model.source},
          {"metric", model.metric},
          {"board_ms", model.board_ms > 0 ? OrderedJson(model.board_ms) : OrderedJson()},
          {"convert", convert},
          {"files", files}};
}

void print_listed(const ListedModels& models) {
  std::vector<std::array<std::string, 6>> rows = {
      {"model", "finds", "licence", "MB", "board ms", "by its authors"}};
  for (const ListedModel& model : models) {
    rows.push_back({model.name, model.finds, model.licence,
                    format("%.1f", static_cast<double>(model.bytes()) / kMegabyte),
                    model.board_ms > 0 ? format("%.1f", model.board_ms) : "-",
                    model.metric.empty() ? "-" : model.metric});
  }
  std::array<int, 6> width = {};
  for (const auto& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) {
      width[i] = std::max(width[i], static_cast<int>(row[i].size()));
    }
  }
  for (const auto& row : rows) {
    std::printf("%-*s  %-*s  %-*s  %*s  %*s  %s\n", width[0], row[0].c_str(), width[1],
                row[1].c_str(), width[2], row[2].c_str(), width[3], row[3].c_str(), width[4],
                row[4].c_str(), row[5].c_str());
  }
}

int list_models(const ListedModels& all, const ModelFilter& filter, bool json) {
  ListedModels models;
  std::copy_if(all.begin(), all.end(), std::back_inserter(models),
               [&](const ListedModel& model) { return filter.wants(model); });
  if (json) {
    OrderedJson rows = OrderedJson::array();
    for (const ListedModel& model : models) rows.push_back(listed_json(model));
    std::printf("%s\n", json_text(rows, 1, true).c_str());
    return 0;
  }
  if (models.empty()) {
    return fail({ErrorCode::kNotFound, format("none of %zu models is like that", all.size())});
  }
  print_listed(models);
  return 0;
}

// --- get --------------------------------------------------------------------------------------

Result<ListedModel> find_model(const ListedModels& models, const std::string& name) {
  for (const ListedModel& model : models) {
    if (model.name == name) return model;
  }
  return Error{ErrorCode::kNotFound, "no model '" + short_text(name, 100) + "' (known: " +
                                         joined(models, ", ", &ListedModel::name) + ")"};
}

// Returns the path of one of a model's files under the file or folder that --from names.
Result<std::string> place_under(const std::string& from, const ListedModel& model,
                                const ModelFile& file) {
  std::error_code error;
  if (std::filesystem::is_directory(from, error)) return from + "/" + file.name;
  if (model.files.size() == 1) return from;
  return invalid_argument("--from '" + from + "': model '" + model.name + "' is several files (" +
                          joined(model.files, ", ", &ModelFile::name) +
                          "), so this must be the folder that has them");
}

Result<std::vector<std::string>> files_of(const ListedModel& model, const std::string& from,
                                          int stall_seconds) {
  DVNN_ASSIGN(const ModelCache cache, ModelCache::open());
  std::vector<std::string> paths;
  for (const ModelFile& file : model.files) {
    std::string path;
    if (from.empty()) {
      DVNN_ASSIGN(path, cache.fetch(file, stall_seconds));
    } else {
      DVNN_ASSIGN(const std::string there, place_under(from, model, file));
      DVNN_ASSIGN(path, cache.take(file, there));
    }
    paths.push_back(std::move(path));
  }
  return paths;
}

// Runs another command of dvnet with these words.
int run_words(const Command& command, std::vector<std::string> words) {
  words.insert(words.begin(), command.name);
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  const auto arguments = Arguments::parse(command, static_cast<int>(argv.size()), argv.data());
  if (!arguments.ok()) return wrong_usage(command, arguments.error().message);
  return command.run(arguments.value());
}

int convert_files(const ListedModel& model, const std::vector<std::string>& files,
                  const std::string& output) {
  std::vector<std::string> words = {"--name=" + model.name, "--output=" + output};
  for (const auto& [option, value] : model.convert) words.push_back("--" + option + "=" + value);
  words.emplace_back("--");
  words.insert(words.end(), files.begin(), files.end());
  return run_words(kConvertCommand, std::move(words));
}

int get_one(const ListedModels& models, const Arguments& arguments) {
  const auto found = find_model(models, arguments.files()[0]);
  if (!found.ok()) return fail(found.error());
  const ListedModel& model = found.value();
  const auto files = files_of(model, arguments.text("from"), arguments.number("timeout"));
  if (!files.ok()) return fail(files.error().within("model '" + model.name + "'"));
  std::printf("%s: %s; licence %s, %s\n", model.name.c_str(), model.finds.c_str(),
              model.licence.c_str(), model.source.c_str());
  const std::string output =
      arguments.given("output") ? arguments.text("output") : model.name + ".dvn";
  const int status = convert_files(model, files.value(), output);
  if (status != 0 || !arguments.given("try")) return status;
#ifdef DVNN_PICTURE_READER
  return run_words(kRunCommand, {"--", output, arguments.text("try")});
#else
  return 0;
#endif
}

// --- command ----------------------------------------------------------------------------------

// Returns the mistake in a command line; empty if it has none.
std::string mistake_of_get(const Arguments& arguments) {
  const bool lists = arguments.given("list");
  const auto one_of = [&](std::initializer_list<const char*> options) -> std::string {
    for (const char* option : options) {
      if (arguments.given(option)) return std::string("--") + option;
    }
    return "";
  };
  constexpr int kLongestTimeout = 3600;
  const int timeout = arguments.number("timeout");
  if (timeout < 1 || timeout > kLongestTimeout) {
    return format("--timeout %d is not in 1..%d", timeout, kLongestTimeout);
  }
  if (lists) {
    const std::string other = one_of({"output", "from", "try"});
    if (!other.empty()) return other + " is for one model, which --list does not get";
    if (!arguments.files().empty())
      return "--list takes no name; --finds, --licence, --size, --time choose";
    for (const char* option : {"size", "time"}) {
      const double most = arguments.given(option) ? arguments.fraction(option) : 1;
      if (!(most > 0 && std::isfinite(most))) return format("--%s %g is not above 0", option, most);
    }
    return "";
  }
  const std::string other = one_of({"finds", "licence", "size", "time", "json"});
  if (!other.empty()) return other + " is for --list";
  if (arguments.files().size() != 1) return "needs the name of one model, or --list";
#ifndef DVNN_PICTURE_READER
  if (arguments.given("try")) return "--try needs dvnet run, which was not built";
#endif
  return "";
}

int get_model(const Arguments& arguments) {
  const std::string mistake = mistake_of_get(arguments);
  if (!mistake.empty()) return wrong_usage(arguments.command(), mistake);
  const auto models = open_model_list(arguments.text("models"));
  if (!models.ok()) return fail(models.error());
  if (!arguments.given("list")) return get_one(models.value(), arguments);
  const double size = arguments.given("size") ? arguments.fraction("size") : 0;
  const double time = arguments.given("time") ? arguments.fraction("time") : 0;
  return list_models(models.value(),
                     {arguments.text("finds"), arguments.text("licence"), size, time},
                     arguments.given("json"));
}

constexpr Option kGetOptions[] = {
    {"output", 'o', Takes::kFile, "FILE.dvn", "The file to write (default: NAME.dvn)"},
    {"from", 0, Takes::kFile, "FILE|FOLDER",
     "Take the model's file, or the folder of its files, instead of downloading them"},
    {"try", 0, Takes::kFile, "PICTURE", "Run the network on this picture, too"},
    {"timeout", 0, Takes::kNumber, "SECONDS",
     "Give an address up if it brings less than 1 KiB a second for as long, 1..3600", "30"},
    {"models", 0, Takes::kFile, "LIST.json", "Another list of models, in the form of docs/get.md"},
    {"list", 0, Takes::kNothing, nullptr, "List models instead of getting one"},
    {"finds", 0, Takes::kText, "WORD", "With --list: those that find this: face, COCO, map"},
    {"licence", 0, Takes::kText, "WORD", "With --list: those of this licence: MIT"},
    {"size", 0, Takes::kFraction, "MB", "With --list: those of at most so many megabytes"},
    {"time", 0, Takes::kFraction, "MS",
     "With --list: those that take at most as many milliseconds on a board, by the estimate of "
     "dvnet inspect"},
    {"json", 0, Takes::kNothing, nullptr, "With --list: print one JSON array"}};

}  // namespace

const Command kGetCommand = {
    "get",
    "download a public model, check it and convert it",
    "NAME | --list",
    "Downloads a model of a list, or takes its files from elsewhere, refuses all but the file with "
    "the list's SHA-256, and converts it by its preset. Files are kept in "
    "$XDG_CACHE_HOME/dvnn/models and not downloaded again.",
    kGetOptions,
    get_model};

}  // namespace dvnn::tools
