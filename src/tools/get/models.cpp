// SPDX-License-Identifier: Apache-2.0
#include "tools/get/models.h"

#include <fcntl.h>
#include <glib.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <memory>

#include "base/format.h"
#include "base/json.h"
#include "tools/get/download.h"
#include "tools/models_text.h"

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

namespace {

constexpr int kOwnFolder = 0700;

Error cache_error(const std::string& what) {
  const int code = errno;
  return {ErrorCode::kIo, "'" + what + "': " + std::strerror(code)};
}

// The hash is in the name, as files of several models have the same one.
std::string cache_place(const ModelFile& file) {
  constexpr size_t kDigits = 16;
  return file.sha256.substr(0, kDigits) + "-" + file.name;
}

std::string cache_part(const ModelFile& file) {
  return cache_place(file) + ".part";
}

struct FreeChecksum {
  void operator()(GChecksum* sum) const { g_checksum_free(sum); }
};

// Calls take(bytes, count) for a file of `size` bytes, block by block.
template <typename Take>
Status for_each_block(const File& file, uint64_t size, Take take) {
  constexpr uint64_t kBlock = 1 << 16;
  std::vector<uint8_t> block(kBlock);
  for (uint64_t at = 0; at < size; at += kBlock) {
    const auto count = static_cast<size_t>(std::min(kBlock, size - at));
    DVNN_TRY(read_at(file.fd(), at, block.data(), count));
    DVNN_TRY(take(block.data(), count));
  }
  return {};
}

// Checks size and hash. The error has both values of what differs.
Status check_file(const ModelFile& wanted, const File& file, const std::string& path) {
  const uint64_t size = size_of(file);
  if (size != wanted.bytes) {
    return malformed(format("'%s' has %llu bytes, and '%s' has %llu", path.c_str(),
                            static_cast<unsigned long long>(size), wanted.name.c_str(),
                            static_cast<unsigned long long>(wanted.bytes)));
  }
  const std::unique_ptr<GChecksum, FreeChecksum> sum(g_checksum_new(G_CHECKSUM_SHA256));
  DVNN_TRY(for_each_block(file, size, [&](const uint8_t* bytes, size_t count) -> Status {
    g_checksum_update(sum.get(), bytes, static_cast<gssize>(count));
    return {};
  }));
  const std::string hash = g_checksum_get_string(sum.get());
  if (hash == wanted.sha256) return {};
  return malformed("'" + path + "' has the SHA-256 " + hash + ", and '" + wanted.name + "' has " +
                   wanted.sha256);
}

}  // namespace

Result<ModelCache> ModelCache::open() {
  ModelCache cache;
  cache.path_ = std::string(g_get_user_cache_dir()) + "/dvnn/models";
  if (g_mkdir_with_parents(cache.path_.c_str(), kOwnFolder) != 0) {
    return cache_error(cache.path_).within("the cache cannot be made");
  }
  auto folder = open_folder(cache.path_);
  if (!folder.ok()) return folder.error().within("the cache cannot be opened");
  cache.folder_ = std::move(folder.value());
  return cache;
}

Result<std::string> ModelCache::find(const ModelFile& file) const {
  const std::string place = cache_place(file), path = path_ + "/" + place;
  const File found = open_own(folder_, place, O_RDONLY);
  if (!found && errno == ENOENT) return Error{ErrorCode::kNotFound, "'" + path + "' is not there"};
  if (!found) return cache_error(path).within("the cache holds what is not a file of yours");
  const Status right = check_file(file, found, path);
  if (right.ok()) return path;
  std::fprintf(stderr, "dvnet: %s: it is removed\n", printable(right.error().message).c_str());
  if (unlinkat(folder_.fd(), place.c_str(), 0) != 0) return cache_error(path);
  return Error{ErrorCode::kNotFound, right.error().message};
}

// Opens the part of a file that nobody else is fetching.
Result<File> ModelCache::open_part(const ModelFile& file) const {
  const std::string part = cache_part(file), path = path_ + "/" + part;
  File opened = open_own(folder_, part, O_RDWR | O_CREAT);
  if (!opened) return cache_error(path);
  if (flock(opened.fd(), LOCK_EX | LOCK_NB) == 0) return opened;
  return Error{ErrorCode::kIo, "'" + path + "': another dvnet is fetching it"};
}

// Gives a part its place if it is right, and removes it if not.
Result<std::string> ModelCache::keep(const ModelFile& file, const File& part,
                                     const std::string& from) const {
  const std::string place = cache_place(file), name = cache_part(file);
  if (const Status right = check_file(file, part, from); !right.ok()) {
    unlinkat(folder_.fd(), name.c_str(), 0);
    return right.error();
  }
  if (fsync(part.fd()) != 0 ||
      renameat(folder_.fd(), name.c_str(), folder_.fd(), place.c_str()) != 0) {
    return cache_error(path_ + "/" + place);
  }
  return path_ + "/" + place;
}

Result<std::string> ModelCache::from_url(const ModelFile& file, const std::string& url,
                                         int stall_seconds) const {
  DVNN_ASSIGN(const File part, open_part(file));
  const std::string name = cache_part(file);
  // Another dvnet may have finished it since.
  if (auto there = find(file); there.ok()) {
    unlinkat(folder_.fd(), name.c_str(), 0);
    return there;
  }
  const bool continued = size_of(part) > 0;
  if (const Status came = download(url, file.bytes, stall_seconds, part); !came.ok()) {
    if (size_of(part) == 0) unlinkat(folder_.fd(), name.c_str(), 0);
    return came.error();
  }
  auto kept = keep(file, part, url);
  if (kept.ok() || !continued) return kept;
  // The beginning was another file's. It is removed, so this is the last try.
  return from_url(file, url, stall_seconds);
}

Result<std::string> ModelCache::fetch(const ModelFile& file, int stall_seconds) const {
  auto found = find(file);
  if (found.ok() || found.error().code != ErrorCode::kNotFound) return found;
  std::string problems;
  for (const std::string& url : file.urls) {
    auto came = from_url(file, url, stall_seconds);
    if (came.ok()) return came;
    problems += (problems.empty() ? "" : "; ") + came.error().message;
  }
  return Error{ErrorCode::kIo, problems};
}

Result<std::string> ModelCache::take(const ModelFile& file, const std::string& path) const {
  DVNN_ASSIGN(const File from, open_file(path, UINT64_MAX));
  DVNN_TRY(check_file(file, from, path));
  DVNN_ASSIGN(const File part, open_part(file));
  if (ftruncate(part.fd(), 0) != 0) return cache_error(path_ + "/" + cache_part(file));
  DVNN_TRY(for_each_block(from, file.bytes, [&](const uint8_t* bytes, size_t count) {
    return write_all(part.fd(), bytes, count);
  }));
  return keep(file, part, path);
}

}  // namespace dvnn::tools
