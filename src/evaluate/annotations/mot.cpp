// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <functional>

#include "base/file.h"
#include "base/format.h"
#include "evaluate/annotations/annotations.h"
#include "objects/label_file.h"

namespace dvnn::evaluate {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMostMotBytes = 256 << 20;
constexpr double kMostFrames = 200000;
constexpr size_t kMostColumns = 16;
constexpr double kFarthest = 1e9;  // pixels
// Columns of a line.
constexpr size_t kFrame = 0, kNumber = 1, kLeft = 2, kCounts = 6, kClass = 7;
// Classes of the challenge, by its numbers from 1 on. Only the first is followed; what the others
// in the second list look like is not told apart from it, so tracks of them do not count.
constexpr const char* kPerson = "person";
constexpr int kPedestrian = 1;
constexpr int kAlike[] = {2, 7, 8, 12};  // on a vehicle, static, distractor, reflection

// --- lines --------------------------------------------------------------------------------------

// Reads a line's numbers, between commas or blanks.
Result<std::vector<double>> numbers_of(const std::string& line, const std::string& where) {
  std::vector<double> numbers;
  const char* at = line.c_str();
  while (numbers.size() < kMostColumns) {
    char* end = nullptr;
    const double number = std::strtod(at, &end);
    if (end == at) break;
    numbers.push_back(std::isfinite(number) ? number : 2 * kFarthest);
    at = end;
    while (*at == ' ' || *at == '\t' || *at == '\r') ++at;
    if (*at == ',') ++at;
  }
  const bool fits = numbers.size() >= kLeft + 4 && *at == '\0' &&
                    std::all_of(numbers.begin(), numbers.end(),
                                [](double v) { return std::fabs(v) <= kFarthest; });
  if (fits) return numbers;
  return malformed(where + ": '" + short_text(line, 80) +
                   "' is not frame, number, left, top, width and height");
}

// Calls `take` with the numbers of each line of a file and the line's place, for errors.
Status each_line(
    const std::string& path,
    const std::function<Status(const std::vector<double>&, const std::string& where)>& take) {
  DVNN_ASSIGN(const std::string text, read_file(path, kMostMotBytes));
  size_t number = 0;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string line = trimmed(text.substr(begin, end - begin));
    begin = end + 1;
    ++number;
    if (line.empty()) continue;
    const std::string where = format("'%s', line %zu", path.c_str(), number);
    DVNN_ASSIGN(const std::vector<double> numbers, numbers_of(line, where));
    DVNN_TRY(take(numbers, where));
  }
  return {};
}

// Returns the index of a line's frame.
Result<size_t> frame_of(const std::vector<double>& line, double most, const std::string& where) {
  const double frame = line[kFrame];
  if (frame >= 1 && frame <= most && frame == std::floor(frame))
    return static_cast<size_t>(frame) - 1;
  return malformed(where + format(": frame %g is not in 1..%g", frame, most));
}

Result<Box> box_of(const std::vector<double>& line, const std::string& where) {
  const Box box = {line[kLeft], line[kLeft + 1], line[kLeft + 2], line[kLeft + 3]};
  if (box.width >= 0 && box.height >= 0) return box;
  return malformed(where + format(": a box of %g x %g pixels", box.width, box.height));
}

// --- seqinfo.ini --------------------------------------------------------------------------------

struct SequenceInfo {
  double rate = 25, frames = 0, width = 0, height = 0;  // 0: unknown
  std::string pictures = "img1";
};

Result<double> positive(const std::string& value, double most, const std::string& where) {
  char* end = nullptr;
  const double number = std::strtod(value.c_str(), &end);
  if (*end == '\0' && number > 0 && number <= most) return number;
  return malformed(where + ": '" + short_text(value, 40) +
                   format("' is no number above 0 and up to %g", most));
}

Result<SequenceInfo> read_info(const std::string& path) {
  constexpr double kFastest = 1000, kLargestSide = 1 << 20;
  SequenceInfo info;
  if (!is_file(path)) return info;
  DVNN_ASSIGN(const std::string text, read_file(path, kMostMotBytes));
  const struct {
    const char* key;
    double most, *to;
  } kNumbers[] = {{"frameRate", kFastest, &info.rate},
                  {"seqLength", kMostFrames, &info.frames},
                  {"imWidth", kLargestSide, &info.width},
                  {"imHeight", kLargestSide, &info.height}};
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string line = trimmed(text.substr(begin, end - begin));
    begin = end + 1;
    const size_t equals = line.find('=');
    if (equals == std::string::npos) continue;
    const std::string key = trimmed(line.substr(0, equals));
    const std::string value = trimmed(line.substr(equals + 1));
    if (key == "imDir") info.pictures = value;
    for (const auto& number : kNumbers) {
      if (key != number.key) continue;
      DVNN_ASSIGN(*number.to, positive(value, number.most, "'" + path + "', " + key));
    }
  }
  return info;
}

// --- a sequence ---------------------------------------------------------------------------------

// Returns the file of a sequence's truth: gt/gt.txt, or gt.txt beside a seqinfo.ini.
std::string truth_file(const std::string& folder) {
  if (is_file(folder + "/gt/gt.txt")) return folder + "/gt/gt.txt";
  const bool flat = is_file(folder + "/gt.txt") && is_file(folder + "/seqinfo.ini");
  return flat ? folder + "/gt.txt" : "";
}

std::vector<std::string> sequence_folders(const std::string& path) {
  if (!truth_file(path).empty()) return {path};
  std::vector<std::string> folders;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(path, error)) {
    const std::string folder = entry.path().string();
    if (is_folder(folder) && !truth_file(folder).empty()) folders.push_back(folder);
  }
  std::sort(folders.begin(), folders.end());
  return folders;
}

// Adds a line of the truth to a picture, or to the boxes that are neither found nor ignored.
Status take_truth(const std::vector<double>& line, const std::string& where, const DataSet& data,
                  Picture* picture, std::vector<Box>* others) {
  Truth truth;
  DVNN_ASSIGN(truth.box, box_of(line, where));
  truth.area = truth.box.area();
  truth.track = std::llround(line[kNumber]);
  const bool counts = line.size() <= kCounts || line[kCounts] != 0;
  const double class_number = line.size() > kClass ? line[kClass] : -1;
  if (data.named && class_number > 0) {
    if (class_number != std::floor(class_number) ||
        class_number > static_cast<double>(data.classes.size())) {
      return malformed(where + format(": class %g is none of the %zu in labels.txt", class_number,
                                      data.classes.size()));
    }
    truth.class_id = static_cast<int>(class_number) - 1;
    truth.ignored = !counts;
  } else if (class_number > 0 && class_number != kPedestrian) {
    const auto is_class = [&](int alike) { return class_number == alike; };
    truth.ignored = std::any_of(std::begin(kAlike), std::end(kAlike), is_class);
    if (!truth.ignored) {
      others->push_back(truth.box);
      return {};
    }
  } else if (!counts) {
    others->push_back(truth.box);
    return {};
  }
  picture->truths.push_back(std::move(truth));
  return {};
}

Status read_sequence(const std::string& folder, const DataSet& classes, DataSet* data) {
  DVNN_ASSIGN(const SequenceInfo info, read_info(folder + "/seqinfo.ini"));
  Sequence sequence;
  sequence.name = fs::path(folder).lexically_normal().filename().string();
  if (sequence.name.empty()) sequence.name = fs::path(folder).parent_path().filename().string();
  sequence.folder = folder;
  sequence.rate = info.rate;
  sequence.width = static_cast<int>(info.width);
  sequence.height = static_cast<int>(info.height);
  sequence.first = data->pictures.size();
  std::vector<Picture> pictures;
  if (is_folder(folder + "/" + info.pictures)) {
    DVNN_ASSIGN(const auto paths, pictures_below(folder + "/" + info.pictures));
    for (const std::string& path : paths) {
      pictures.emplace_back();
      pictures.back().path = path;
    }
  }
  if (info.frames > 0 && !pictures.empty() && info.frames != static_cast<double>(pictures.size())) {
    return malformed(format("'%s' has %zu pictures, and seqinfo.ini says %g", folder.c_str(),
                            pictures.size(), info.frames));
  }
  const bool known = info.frames > 0 || !pictures.empty();
  if (info.frames > 0) pictures.resize(static_cast<size_t>(info.frames));
  const double most = known ? static_cast<double>(pictures.size()) : kMostFrames;
  sequence.others.resize(pictures.size());
  DVNN_TRY(each_line(truth_file(folder), [&](const auto& line, const std::string& where) -> Status {
    DVNN_ASSIGN(const size_t frame, frame_of(line, most, where));
    if (frame >= pictures.size()) pictures.resize(frame + 1);
    if (frame >= sequence.others.size()) sequence.others.resize(frame + 1);
    return take_truth(line, where, classes, &pictures[frame], &sequence.others[frame]);
  }));
  sequence.count = pictures.size();
  for (Picture& picture : pictures) {
    picture.width = sequence.width;
    picture.height = sequence.height;
    data->pictures.push_back(std::move(picture));
  }
  data->sequences.push_back(std::move(sequence));
  return {};
}

}  // namespace

bool is_mot(const std::string& path) {
  return is_folder(path) && !sequence_folders(path).empty();
}

Result<DataSet> read_mot(const std::string& path) {
  const std::vector<std::string> folders = sequence_folders(path);
  if (folders.empty()) {
    return Error{ErrorCode::kNotFound,
                 "'" + path + "' has no gt/gt.txt, and no folders that have it"};
  }
  DataSet data;
  data.source = path;
  const std::string labels = fs::path(truth_file(folders[0])).parent_path() / "labels.txt";
  data.named = is_file(labels);
  if (data.named) {
    DVNN_ASSIGN(data.classes, objects::read_labels(labels));
  } else {
    data.classes = {kPerson};
  }
  const DataSet classes = data;
  for (const std::string& folder : folders) DVNN_TRY(read_sequence(folder, classes, &data));
  // The challenge's class has a name, which a network must know.
  data.named = true;
  return data;
}

Result<MotResults> read_mot_results(const std::string& path, const DataSet& data) {
  MotResults results;
  results.found.resize(data.pictures.size());
  FollowedByPicture followed(data.pictures.size());
  size_t named = 0, plain = 0;
  for (const Sequence& sequence : data.sequences) {
    const std::string file =
        is_folder(path) ? path + "/" + sequence.name + ".txt" : sequence.folder + "/" + path;
    DVNN_TRY(each_line(file, [&](const auto& line, const std::string& where) -> Status {
      DVNN_ASSIGN(const size_t frame, frame_of(line, static_cast<double>(sequence.count), where));
      DVNN_ASSIGN(const Box box, box_of(line, where));
      const double class_number = line.size() > kClass ? line[kClass] : -1;
      Found found;
      found.box = box;
      found.score = line.size() > kCounts ? line[kCounts] : 1;
      // The challenge's results have a place in the world where classes may be: -1.
      found.class_id = class_number >= 1 ? static_cast<int>(class_number) - 1 : 0;
      if (static_cast<size_t>(found.class_id) >= data.classes.size()) {
        return malformed(where +
                         format(": class %g is none of %zu", class_number, data.classes.size()));
      }
      const int64_t number = std::llround(line[kNumber]);
      (number >= 0 ? named : plain) += 1;
      if (named > 0 && plain > 0)
        return malformed(where + ": some boxes have the number of a track, and some have not");
      if (number >= 0) followed[sequence.first + frame].push_back({found.class_id, number, box});
      results.found[sequence.first + frame].push_back(std::move(found));
      return {};
    }));
  }
  if (named > 0) results.followed = std::move(followed);
  return results;
}

}  // namespace dvnn::evaluate
