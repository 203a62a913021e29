// SPDX-License-Identifier: Apache-2.0
// Reads what people say that pictures show, in the forms that labelling tools write. Files come
// from anybody: an error names the file and the line or the id, what is there and what should be.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "evaluate/data_set.h"

namespace dvnn::evaluate {

/// Reads a folder, or a file that describes one: COCO's JSON, or the data.yaml of YOLO. kFind:
/// what lies there decides.
Result<DataSet> read_data_set(const std::string& path, Annotations kind);

/// Looks for the pictures of COCO's annotations, which may lie in several places; those of other
/// forms are known. What was found by others can be measured without pictures.
Status locate_pictures(DataSet* data);

/// What the forms are called: "coco", "yolo", "voc", "folders", "masks"; kFind is "auto".
extern const char* const kAnnotationNames[6];
const char* annotations_name(Annotations kind);

// --- the readers of each form -------------------------------------------------------------------

/// COCO's JSON: boxes, areas, crowds and key points (https://cocodataset.org/#format-data). The
/// pictures lie beside the file, one folder above it, or there in `images` or in a folder that is
/// named as the file behind its last '_': annotations/instances_val2017.json, val2017/.
Result<DataSet> read_coco(const std::string& path);

/// What somebody else found, as COCO's programs read it: a list of {image_id, category_id, bbox or
/// keypoints, score}, by the ids of `data`.
Result<FoundByPicture> read_coco_results(const std::string& path, const DataSet& data);

/// What was found as such a list, as compact JSON; only for data that has COCO's ids.
std::string coco_results_text(const FoundByPicture& found, const DataSet& data);

/// YOLO's text files: a line for each object, "class x y width height" in fractions of the picture,
/// around the middle of the box, or "class" and the corners of an outline. They lie in a folder
/// `labels` beside `images`, or beside the pictures. The classes are named in data.yaml, or in
/// classes.txt.
Result<DataSet> read_yolo(const std::string& path);

/// Pascal VOC's XML files (the development kit of VOC 2012), a file for each picture. Objects that
/// are `difficult` are ignored. Pixels are counted from 1, and the last one belongs to the box.
Result<DataSet> read_voc(const std::string& path);

/// A folder for each class with pictures in it, as ImageNet has them.
Result<DataSet> read_class_folders(const std::string& path);

/// A gray picture for each picture, in `masks` beside `images`: a pixel's value is the index of its
/// class, 255 says that it does not count. The classes are named in classes.txt, or not at all.
Result<DataSet> read_masks(const std::string& path);

// --- for them -----------------------------------------------------------------------------------

/// Whether a file's name is that of a picture: .jpg, .png, .bmp, .webp, .tif, .ppm, .pgm.
bool is_picture_name(const std::string& name);
/// The pictures in a folder, sorted, and in those below it.
Result<std::vector<std::string>> pictures_below(const std::string& folder);
/// Whether there is a folder, and a file, of that name.
bool is_folder(const std::string& path);
bool is_file(const std::string& path);
/// The files of a folder whose name ends so, sorted; of what is no folder, none.
std::vector<std::string> files_in(const std::string& folder, const std::string& end);
/// A string without the blanks around it.
std::string trimmed(const std::string& text);
/// The file's name without folder and extension.
std::string stem_of(const std::string& path);
/// An error if a class's name is empty, too long, or not printable.
Status check_class_name(const std::string& name, const std::string& where);

}  // namespace dvnn::evaluate
