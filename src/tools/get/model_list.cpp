// SPDX-License-Identifier: Apache-2.0
#include "tools/get/model_list.h"

#include <algorithm>
#include <cctype>
#include <iterator>

#include "base/file.h"
#include "base/format.h"
#include "base/json.h"
#include "tools/get/models_text.h"

namespace dvnn::tools {
namespace {

constexpr int64_t kMostBytes = int64_t{1} << 32;  // of a file; more than any device holds
constexpr size_t kMostFiles = 8, kMostUrls = 8;
constexpr size_t kLongestName = 100, kLongestText = 400, kLongestUrl = 2000;

constexpr double kMostMilliseconds = 1e7;

// Options of convert that neither read nor write a file.
constexpr const char* kListedOptions[] = {"preset",  "from",    "size",   "order",
                                          "mean",    "scale",   "resize", "pad-value",
                                          "decoder", "outputs", "layout"};

// Whether a name is one of a file in a folder, and stays one on every file system.
bool is_plain_name(const std::string& name) {
  const auto fits = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '_' || c == '-';
  };
  return !name.empty() && name.size() <= kLongestName && name[0] != '.' && name[0] != '-' &&
         std::all_of(name.begin(), name.end(), fits);
}

bool is_sha256(const std::string& text) {
  constexpr size_t kDigits = 64;
  return text.size() == kDigits && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

// Whether a text is an address of the web, without spaces, secrets or parts that a server does not
// see.
bool is_url(const std::string& text) {
  const size_t host = starts_with(text, "https://") ? 8 : starts_with(text, "http://") ? 7 : 0;
  const auto is_visible = [](char c) { return c > ' ' && c < '\x7f' && c != '#' && c != '\\'; };
  return host > 0 && text.size() <= kLongestUrl &&
         std::all_of(text.begin(), text.end(), is_visible) &&
         text.substr(host, text.find('/', host) - host).find('@') == std::string::npos;
}

// Reads a text that is shown.
std::string short_line(JsonReader* in, const char* name, bool required) {
  const std::string text = required ? in->text(name) : in->text(name, "");
  if (!in->ok()) return "";
  if (text.size() > kLongestText || !is_printable(text) || (required && text.empty())) {
    in->fail(name, format("must be a line of 1 to %zu bytes", kLongestText));
  }
  return text;
}

std::vector<std::string> read_urls(JsonReader* in) {
  std::vector<std::string> urls;
  const Json* list = in->member("urls");
  if (!list || !list->is_array() || list->empty() || list->size() > kMostUrls) {
    in->fail("urls", format("must be a list of 1 to %zu addresses", kMostUrls));
    return urls;
  }
  for (const Json& url : *list) {
    if (url.is_string() && is_url(url.get<std::string>())) {
      urls.push_back(url.get<std::string>());
    } else {
      in->fail("urls", shown(url) + " is no address that begins with https:// or http://");
    }
  }
  return urls;
}

Result<ModelFile> read_model_file(const Json& object, const std::string& what) {
  ModelFile file;
  DVNN_TRY(check_members(object, what, {"name", "bytes", "sha256", "urls"}));
  JsonReader in(object, what);
  file.name = in.text("name");
  file.bytes = static_cast<uint64_t>(in.integer("bytes", 1, kMostBytes));
  file.sha256 = in.text("sha256");
  file.urls = read_urls(&in);
  if (!is_plain_name(file.name)) {
    in.fail("name", "must be a file's name of letters, digits, '.', '_' and '-'");
  }
  if (!is_sha256(file.sha256)) in.fail("sha256", "must be 64 digits 0..9, a..f");
  DVNN_TRY(in.status());
  return file;
}

Status read_convert(JsonReader* in, ListedModel* model) {
  const Json* convert = in->member("convert");
  if (!convert) return {};
  if (!convert->is_object()) in->fail("convert", "must be an object of options and their values");
  DVNN_TRY(in->status());
  for (const auto& [option, value] : convert->items()) {
    const bool known = std::find(std::begin(kListedOptions), std::end(kListedOptions), option) !=
                       std::end(kListedOptions);
    if (!known || !value.is_string()) {
      in->fail("convert", (known ? shown(value) + " is no text"
                                 : "no option '" + printable(option) + "' is taken from a list"));
      return in->status();
    }
    model->convert.emplace_back(option, value.get<std::string>());
  }
  return {};
}

Result<ListedModel> read_listed_model(const std::string& name, const Json& object,
                                      const std::string& list) {
  const std::string what = list + ": model '" + short_text(name, kLongestName) + "'";
  if (!is_plain_name(name)) {
    return malformed(what + ": a name has letters, digits, '.', '_' and '-'");
  }
  ListedModel model;
  model.name = name;
  DVNN_TRY(check_members(object, what,
                         {"finds", "licence", "source", "metric", "board_ms", "convert", "files"}));
  JsonReader in(object, what);
  model.finds = short_line(&in, "finds", true);
  model.licence = short_line(&in, "licence", true);
  model.source = short_line(&in, "source", true);
  model.metric = short_line(&in, "metric", false);
  model.board_ms = in.number("board_ms", 0);
  if (!(model.board_ms >= 0 && model.board_ms <= kMostMilliseconds)) {
    in.fail("board_ms", format("must be 0..%g milliseconds", kMostMilliseconds));
  }
  DVNN_TRY(in.status());
  DVNN_TRY(read_convert(&in, &model));
  const Json* files = in.member("files");
  if (!files || !files->is_array() || files->empty() || files->size() > kMostFiles) {
    in.fail("files", format("must be a list of 1 to %zu files", kMostFiles));
  }
  DVNN_TRY(in.status());
  for (const Json& file : *files) {
    DVNN_ASSIGN(ModelFile read,
                read_model_file(file, format("%s: file %zu", what.c_str(), model.files.size())));
    model.files.push_back(std::move(read));
  }
  return model;
}

}  // namespace

uint64_t ListedModel::bytes() const {
  uint64_t sum = 0;
  for (const ModelFile& file : files) sum += file.bytes;
  return sum;
}

Result<std::vector<ListedModel>> read_model_list(const std::string& text, const std::string& what) {
  DVNN_ASSIGN(const Json list, parse_json(text, what));
  if (!list.is_object()) return malformed(what + ": must be an object of models by name");
  std::vector<ListedModel> models;
  for (const auto& [name, value] : list.items()) {
    DVNN_ASSIGN(ListedModel model, read_listed_model(name, value, what));
    models.push_back(std::move(model));
  }
  return models;
}

Result<std::vector<ListedModel>> open_model_list(const std::string& path) {
  if (path.empty()) return read_model_list(kModelsText, "the list of models");
  constexpr uint64_t kMostText = 1 << 22;
  DVNN_ASSIGN(const std::string text, read_file(path, kMostText));
  return read_model_list(text, "'" + path + "'");
}

}  // namespace dvnn::tools
