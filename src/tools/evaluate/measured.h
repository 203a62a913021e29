// SPDX-License-Identifier: Apache-2.0
// All figures of one network on one data set.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "evaluate/average_precision.h"
#include "evaluate/bootstrap.h"
#include "evaluate/confusion.h"
#include "evaluate/thresholds.h"
#include "evaluate/track_figures.h"
#include "evaluate/whole_pictures.h"
#include "tools/evaluate/subject.h"

namespace dvnn::tools {

/// A class of both the network and the data set.
struct MeasuredClass {
  std::string label;  // the network's name of the class
  uint64_t objects = 0;
  evaluate::Figures figures;
  evaluate::Operation operation;  // at the chosen threshold
  bool reached = true;            // false: too few objects for the wanted precision
  evaluate::Curve half;           // at an overlap of 0.5
};

/// Figures of a detector.
struct MeasuredDetector {
  evaluate::Figures figures;
  std::optional<evaluate::Figures> key_points, masks;
  evaluate::Interval ap, ap50, ap75, ar;  // -1 where no samples were drawn
  std::vector<MeasuredClass> classes;     // classes with objects
  std::string thresholds;                 // for dvdecode's property of that name
  evaluate::Confusion confusion{0};
  std::vector<double> by_class;  // the chosen threshold of every class of the data set
  std::vector<size_t> mistakes;  // by picture
};

/// Figures of maps of classes.
struct MeasuredPixels {
  struct Class {
    std::string label;
    uint64_t pixels = 0;
    double overlap = -1;
  };
  double mean_overlap = -1, accuracy = -1;
  std::vector<Class> classes;  // classes that occur or were found
};

/// Figures of texts.
struct MeasuredReading {
  evaluate::ReadingCount count;
  evaluate::Interval exact, character_error;  // -1 where no samples were drawn
  std::vector<std::string> texts;             // what was read, by picture
  std::vector<size_t> misread;                // pictures
};

struct MeasuredEmbeddings {
  evaluate::EmbeddingFigures figures;
};

/// How far the software device differs from the device that it is compared with.
struct MeasuredDifference {
  std::string other;                        // path of the other subject
  std::vector<PictureDifference> pictures;  // those with a difference
};

/// Figures of tracks in sequences; those of several sequences and classes are their sums.
struct MeasuredTracks {
  evaluate::tracks::Figures all;
  std::vector<evaluate::tracks::Figures> by_sequence;
  // By label, of classes that the network knows.
  std::vector<std::pair<std::string, evaluate::tracks::Figures>> classes;
};

struct Measured {
  std::string path;
  std::vector<std::string> foreign, missing;  // labels of the network alone, and of the data alone
  double floor = 0;                           // smallest confidence of the decoder's results
  std::optional<MeasuredDetector> detector;
  std::optional<evaluate::Accuracy> classifier;
  std::optional<MeasuredPixels> pixels;
  std::optional<MeasuredReading> reading;
  std::optional<MeasuredEmbeddings> embeddings;
  std::optional<MeasuredTracks> tracks;
  std::optional<MeasuredDifference> difference;
  evaluate::Interval first, among_five;  // top-1 and top-5 accuracy of a classifier
};

struct MeasureOptions {
  std::optional<double> precision;  // wanted precision of thresholds; none: the best F1
  int rounds = 0;                   // samples of the bootstrap
  uint64_t seed = 1;
};

/// The figure by which networks for these data are judged first: its name, and its value, which is
/// the better the larger it is.
struct Metric {
  std::string name;
  double value = -1;  // -1: unknown
};
/// Returns AP, top-1, mIoU, 1 - CER or mAP; none of tracks alone.
std::optional<Metric> metric_of(const Measured& measured);

/// Returns part / all; -1 if `all` is 0.
double share_of(uint64_t part, uint64_t all);

/// Returns a picture of the data, whose objects of classes that the network lacks are ignored.
evaluate::Picture counted_picture(const evaluate::DataSet& data, const Subject& subject,
                                  size_t index);

Measured measure(const evaluate::DataSet& data, const Subject& subject,
                 const MeasureOptions& options);

}  // namespace dvnn::tools
