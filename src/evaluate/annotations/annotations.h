// SPDX-License-Identifier: Apache-2.0
// Reads annotations of pictures in the forms that labelling tools write. Files may come from
// anybody: an error names the file and the line or the id, the value seen and the one expected.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "evaluate/data_set.h"

namespace dvnn::evaluate {

/// Reads a folder, or a file that describes one: COCO's JSON, or the data.yaml of YOLO. kFind:
/// guess the form by the files that are there.
Result<DataSet> read_data_set(const std::string& path, Annotations kind);

/// Finds the pictures of COCO's annotations, which may lie in several places; those of other forms
/// are known. Results of other programs can be evaluated without pictures.
Status locate_pictures(DataSet* data);

/// Names of the forms: "coco", "yolo", "voc", "folders", "masks", "texts", "mot"; kFind is "auto".
extern const char* const kAnnotationNames[8];
const char* annotations_name(Annotations kind);

// --- the readers of each form -------------------------------------------------------------------

/// Reads COCO's JSON: boxes, areas, crowds and key points (https://cocodataset.org/#format-data).
/// The pictures lie beside the file, one folder above it, or there in `images` or in a folder that
/// is named as the file behind its last '_': annotations/instances_val2017.json, val2017/.
Result<DataSet> read_coco(const std::string& path);

/// Reads results of another program in COCO's form: a list of {image_id, category_id, bbox or
/// keypoints, score}, by the ids of `data`.
Result<FoundByPicture> read_coco_results(const std::string& path, const DataSet& data);

/// Returns results as such a list, in compact JSON; only for data that has COCO's ids.
std::string coco_results_text(const FoundByPicture& found, const DataSet& data);

/// Reads YOLO's text files: a line for each object, "class x y width height" in fractions of the
/// picture, around the middle of the box, or "class" and the corners of an outline. They lie in a
/// folder `labels` beside `images`, or beside the pictures. Classes are named in data.yaml, or in
/// classes.txt.
Result<DataSet> read_yolo(const std::string& path);

/// Reads Pascal VOC's XML files (the development kit of VOC 2012), one for each picture. Objects
/// marked `difficult` are ignored. Pixels are counted from 1, and the last one belongs to the box.
Result<DataSet> read_voc(const std::string& path);

/// Reads a folder for each class with its pictures, as in ImageNet.
Result<DataSet> read_class_folders(const std::string& path);

/// Reads a gray picture for each picture, in `masks` beside `images`: a pixel's value is the index
/// of its class; 255: it does not count. Classes may be named in classes.txt.
Result<DataSet> read_masks(const std::string& path);

/// Reads a file with a line for each picture: its path below the file's folder, and what is written
/// on it. Between them is a tab (PaddleOCR), or a comma and a blank with the text in quotation
/// marks (the ICDAR challenges).
Result<DataSet> read_texts(const std::string& path);
/// Returns a folder's file of that form: rec_gt.txt, gt.txt or texts.txt; empty: there is none.
std::string texts_file_in(const std::string& folder);

/// Reads sequences in the form of the MOT challenge (P. Dendorfer et al., "MOTChallenge: A
/// Benchmark for Single-Camera Multiple Target Tracking", IJCV 129, 2021): a folder with gt/gt.txt,
/// or one of such folders. A line is "frame, number, left, top, width, height, counts, class,
/// visibility" in pixels, frames counting from 1. Classes are named in gt/labels.txt; without it
/// they are the challenge's, of which people that stand or walk are to be found, and what looks
/// like them is ignored. Rate, size and number of frames come from seqinfo.ini; pictures lie in
/// img1.
Result<DataSet> read_mot(const std::string& path);
/// Returns whether a folder has a sequence, or folders with sequences.
bool is_mot(const std::string& path);

/// What another program has found in sequences.
struct MotResults {
  FoundByPicture found;        // all boxes
  FollowedByPicture followed;  // those that have a number; empty: none has, they are detections
};

/// Reads such results for all sequences, in lines "frame, number, left, top, width, height,
/// confidence, class" whose number is -1 for detections. `path` is a folder with a file
/// SEQUENCE.txt for each sequence, or the name of a file within each sequence's folder, such as
/// det/det.txt. Without a class, or with one of -1, boxes are of the first class.
Result<MotResults> read_mot_results(const std::string& path, const DataSet& data);

/// What data.yaml describes a data set for YOLO by.
struct YoloYaml {
  std::string path, val;                  // folders; empty if not given
  std::vector<std::string> names;         // of classes
  int points = 0, numbers_per_point = 0;  // of poses
};

/// Reads data.yaml. It takes files as exporters write them: top-level scalars, and `names` as a
/// list in one line, a list with a line for each, or a map of indices. Other keys are ignored;
/// other forms of YAML for the keys that are read are errors, with the line.
Result<YoloYaml> read_yolo_yaml(const std::string& path);

// --- helpers of the readers ----------------------------------------------------------------------

/// Returns whether a file's name is that of a picture: .jpg, .png, .bmp, .webp, .tif, .ppm, .pgm.
bool is_picture_name(const std::string& name);
/// Returns the pictures in a folder and in those below it, sorted.
Result<std::vector<std::string>> pictures_below(const std::string& folder);
/// Returns whether there is a folder, or a file, of that name.
bool is_folder(const std::string& path);
bool is_file(const std::string& path);
/// Returns whether anything has that name, be it a pipe or a broken link. Reading what is no file
/// is an error: it is not taken for a missing one.
bool is_there(const std::string& path);
/// Returns the files of a folder whose names end with `end`, sorted; none if there is no folder.
std::vector<std::string> files_in(const std::string& folder, const std::string& end);
/// Returns a string without the blanks around it.
std::string trimmed(const std::string& text);
/// Returns a file's name without folder and extension.
std::string stem_of(const std::string& path);
/// Returns an error if a class's name is empty, too long, or not printable.
Status check_class_name(const std::string& name, const std::string& where);

}  // namespace dvnn::evaluate
