// SPDX-License-Identifier: Apache-2.0
// Sequences in the MOT challenge's form, and COCO's masks.
#include <string>

#include "check_suite.h"
#include "evaluate/annotation_folder.h"
#include "evaluate/run_lengths.h"

namespace dvnn::test::annotations_more_tests {

DVNN_SUITE(annotations_more);

namespace {

constexpr char kInfo[] =
    "[Sequence]\nname=a\nimDir=img1\nframeRate=14\r\nseqLength=3\nimWidth=640\nimHeight=480\n"
    "imExt=.jpg\n";

evaluate::MotResults mot_results(const std::string& path, const DataSet& data) {
  auto results = evaluate::read_mot_results(path, data);
  ck_assert_msg(results.ok(), "%s", results.ok() ? "" : results.error().message.c_str());
  return std::move(results.value());
}

}  // namespace

DVNN_TEST(mot_sequences_have_people_and_what_looks_like_them) {
  const Folder folder;
  folder.with("b/gt/gt.txt", "1,5,10,20,30,40,1,-1,-1,-1\n");
  folder.with("a/seqinfo.ini", kInfo)
      .with("a/gt/gt.txt",
            "2,7,-1,0.5,30,40,1,1,0.9\n"
            "2,8,1,1,3,4,0,8,1\n\n"
            "2,9,2,2,3,4,0,3,1\n"
            "3 7 3 3 30 40 0 1 1\r\n");
  const DataSet data = read(folder.path());
  ck_assert_int_eq(static_cast<int>(data.kind), static_cast<int>(Annotations::kMot));
  ck_assert_uint_eq(data.classes.size(), 1);
  dvnn_assert_text(data.classes[0], "person");
  ck_assert_uint_eq(data.sequences.size(), 2);
  const evaluate::Sequence& a = data.sequences[0];
  dvnn_assert_text(a.name, "a");
  ck_assert_uint_eq(a.count, 3);
  ck_assert_double_eq(a.rate, 14);
  ck_assert_int_eq(a.width, 640);
  ck_assert(data.pictures[0].truths.empty() && data.pictures[2].truths.empty());
  const auto& truths = data.pictures[1].truths;
  ck_assert_uint_eq(truths.size(), 2);
  ck_assert(truths[0].track == 7 && !truths[0].ignored && truths[1].ignored);
  ck_assert_double_eq(truths[0].box.x, -1);
  ck_assert_double_eq(truths[0].box.y, 0.5);
  // A car, and a pedestrian that does not count.
  ck_assert_uint_eq(a.others[1].size(), 1);
  ck_assert_uint_eq(a.others[2].size(), 1);
  // MOT 2015 has no classes, and what has no seqinfo.ini has 25 frames a second.
  ck_assert_uint_eq(data.sequences[1].first, 3);
  ck_assert_double_eq(data.sequences[1].rate, 25);
  ck_assert_int_eq(static_cast<int>(data.pictures[3].truths[0].track), 5);
  // One sequence alone.
  ck_assert_uint_eq(read(folder.at("a")).sequences.size(), 1);
  DataSet runs = data;
  const Status without = evaluate::locate_pictures(&runs);
  const std::string why =
      "'" + folder.at("a") +
      "' has no img1 with pictures, or what imDir in seqinfo.ini names, which a network needs";
  dvnn_assert_text(without.error().message, why.c_str());
}

DVNN_TEST(mot_classes_have_names) {
  const Folder folder;
  folder.with("gt/gt.txt", "1,7,0,0,30,40,1,2,1\n1,8,0,0,30,40,0,1,1\n");
  folder.with("gt/labels.txt", "cat\ndog\n").with("img1/000001.jpg").with("img1/000002.jpg");
  const DataSet data = read(folder.path());
  ck_assert_uint_eq(data.classes.size(), 2);
  ck_assert_uint_eq(data.pictures.size(), 2);
  const std::string second = folder.at("img1/000002.jpg");
  dvnn_assert_text(data.pictures[1].path, second.c_str());
  ck_assert_int_eq(data.pictures[0].truths[0].class_id, 1);
  ck_assert(data.pictures[0].truths[1].ignored);
  expect_refused(folder.with("gt/gt.txt", "1,7,0,0,30,40,1,3,1\n"), "",
                 "'FOLDER/gt/gt.txt', line 1: class 3 is none of the 2 in labels.txt");
  expect_refused(folder.with("gt/gt.txt", "1,7,0,0,30,40\n3,7,0,0,30,40\n"), "",
                 "'FOLDER/gt/gt.txt', line 2: frame 3 is not in 1..2");
}

DVNN_TEST(mot_results_are_detections_or_tracks) {
  const Folder folder;
  folder.with("a/seqinfo.ini", kInfo).with("a/gt/gt.txt", "1,7,0,0,30,40,1,1,1\n");
  const DataSet data = read(folder.path());
  folder.with("a/det/det.txt", "3,-1,1,2,30,40,0.75,-1,-1,-1\n");
  const evaluate::MotResults det = mot_results("det/det.txt", data);
  ck_assert(det.followed.empty() && det.found[2].size() == 1);
  ck_assert_double_eq(det.found[2][0].score, 0.75);
  folder.with("tracks/a.txt", "1,4,1,2,30,40,1\n2,4,1,2,30,40,1\n");
  const evaluate::MotResults tracks = mot_results(folder.at("tracks"), data);
  ck_assert_uint_eq(tracks.followed[1].size(), 1);
  ck_assert_int_eq(static_cast<int>(tracks.followed[1][0].track), 4);
  folder.with("tracks/a.txt", "1,4,1,2,30,40,1\n2,-1,1,2,30,40,1\n");
  const auto mixed = evaluate::read_mot_results(folder.at("tracks"), data);
  const std::string why = "'" + folder.at("tracks/a.txt") +
                          "', line 2: some boxes have the number of a track, and some have not";
  dvnn_assert_text(mixed.error().message, why.c_str());
}

DVNN_TEST(coco_masks_are_polygons_or_runs) {
  const auto with = [](const std::string& segmentation) {
    return R"({"images":[{"id":7,"file_name":"a.jpg","width":7,"height":6}],"categories":[{"id":1,"name":"a"}],)"
           R"("annotations":[{"image_id":7,"category_id":1,"bbox":[1,2,3,4],"segmentation":)" +
           segmentation + "}]}";
  };
  const Folder folder;
  const auto area = [&](const std::string& segmentation) {
    const DataSet data = read(folder.with("a.json", with(segmentation)).path());
    const auto& mask = data.pictures[0].truths[0].mask;
    return mask ? static_cast<int>(mask->area()) : -1;
  };
  ck_assert_int_eq(area("[[2,1,5,1,5,4,2,4]]"), 9);
  ck_assert_int_eq(area(R"({"size":[6,7],"counts":[13,3,26]})"), 3);
  ck_assert_int_eq(area("[]"), -1);
  const struct {
    const char *segmentation, *why;
  } kCases[] = {{"[[2,1,5,1]]", "a list is no polygon: at least three pairs of x and y"},
                {R"({"size":[7,6],"counts":[42]})", "size is not the picture's, [6, 7]"},
                {R"({"size":[6,7],"counts":[41]})", "runs of 41 pixels, for a picture of 7 x 6"},
                {R"({"size":[6,7]})", "has no size and counts"},
                {R"({"size":[6,7],"counts":[-1,43]})",
                 "counts are no list of numbers of pixels, and no text"},
                {"[[0,0,1e6,0,0,1e6,1e6,1e6,0,0,1e6,1e6]]", "an outline of more than 4e+06 pixels"},
                {"3", "3, and neither polygons nor runs"}};
  for (const auto& c : kCases) {
    expect_refused(
        folder.with("a.json", with(c.segmentation)), "",
        std::string("field 'segmentation' of annotations 0 of 'FOLDER/a.json': ") + c.why);
  }
}

DVNN_TEST(mot_mistakes_are_named) {
  const Folder folder;
  const struct {
    const char *lines, *why;
  } kCases[] = {
      {"1,7,0,0,30\n", "'1,7,0,0,30' is not frame, number, left, top, width and height"},
      {"1,7,0,0,30,x\n", "'1,7,0,0,30,x' is not frame, number, left, top, width and height"},
      {"1,7,nan,0,30,40\n", "'1,7,nan,0,30,40' is not frame, number, left, top, width and height"},
      {"0,7,0,0,30,40\n", "frame 0 is not in 1..3"},
      {"1.5,7,0,0,30,40\n", "frame 1.5 is not in 1..3"},
      {"1,7,0,0,-30,40\n", "a box of -30 x 40 pixels"},
  };
  folder.with("seqinfo.ini", kInfo);
  for (const auto& c : kCases) {
    expect_refused(folder.with("gt/gt.txt", c.lines), "",
                   std::string("'FOLDER/gt/gt.txt', line 1: ") + c.why);
  }
  folder.with("gt/gt.txt", "1,7,0,0,30,40\n").with("img1/1.jpg");
  expect_refused(folder, "", "'FOLDER' has 1 pictures, and seqinfo.ini says 3");
  expect_refused(folder.with("seqinfo.ini", "frameRate=0\n"), "",
                 "'FOLDER/seqinfo.ini', frameRate: '0' is no number above 0 and up to 1000");
}

}  // namespace dvnn::test::annotations_more_tests
