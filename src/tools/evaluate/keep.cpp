// SPDX-License-Identifier: Apache-2.0
#include "tools/evaluate/keep.h"

#include <filesystem>
#include <map>
#include <string>

#include "base/file.h"
#include "base/format.h"
#include "decode/class_thresholds.h"
#include "network/dvn_file.h"
#include "tools/options.h"

namespace dvnn::tools {
namespace {

// Returns the file that a name leads to, so that a link stays a link when the file is replaced.
std::string file_behind(const std::string& path) {
  std::error_code error;
  const std::filesystem::path file = std::filesystem::canonical(path, error);
  return error ? path : file.string();
}

Error refused(const Subject& subject, const std::string& why) {
  return {ErrorCode::kUnsupported, "--keep: '" + subject.path + "' " + why};
}

}  // namespace

Status check_keeps(const Subject& subject) {
  if (!subject.session) return refused(subject, "is no network");
  if (!ends_with(subject.path, ".dvn")) {
    return refused(subject, "is no .dvn file; the thresholds of another network are for dvdecode");
  }
  if (subject.finds != objects::Kind::kDetection) {
    return refused(subject,
                   std::string("finds: ") + kind_name(subject.finds) + "; thresholds are of boxes");
  }
  const std::string folder = std::filesystem::path(file_behind(subject.path)).parent_path();
  if (Status s = check_folder(folder.empty() ? "." : folder); !s.ok()) {
    return s.error().within("--keep cannot replace '" + subject.path + "'");
  }
  return {};
}

Status keep_thresholds(const Subject& subject, const MeasuredDetector& measured) {
  const std::string path = file_behind(subject.path);
  // The file is read again: the session's model may be planned for another size.
  DVNN_ASSIGN(network::Model model, network::read_dvn(path));
  const network::Model& ran = subject.session->model();
  if (model.labels != ran.labels || model.source != ran.source ||
      model.decoder.name != ran.decoder.name) {
    return Error{ErrorCode::kIo, "--keep: '" + subject.path +
                                     "' was replaced by another network while this one "
                                     "ran, and stays as it is"};
  }
  std::map<std::string, double> thresholds;
  for (const MeasuredClass& of : measured.classes) thresholds[of.label] = of.operation.threshold;
  decode::set_class_thresholds(thresholds, &model.decoder.params);
  return network::write_dvn(model, path);
}

}  // namespace dvnn::tools
