// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <random>
#include <string>

#include "check_suite.h"
#include "evaluate/annotation_folder.h"

namespace dvnn::test::annotations_tests {

DVNN_SUITE(annotations);

namespace {

// --- COCO
// -----------------------------------------------------------------------------------------

std::string coco(
    const std::string& annotations,
    const std::string& images = R"({"id":7,"file_name":"b.jpg"},{"id":5,"file_name":"a.jpg"})",
    const std::string& categories = R"({"id":18,"name":"dog"},{"id":1,"name":"person"})") {
  return "{\"images\":[" + images + "],\"categories\":[" + categories + "],\"annotations\":[" +
         annotations + "]}";
}

void expect_coco_refused(const std::string& text, const std::string& why) {
  const Folder folder;
  folder.with("a.json", text);
  expect_refused(folder, "a.json", why);
}

}  // namespace

DVNN_TEST(coco_tells_boxes_crowds_areas_and_points_by_ids) {
  const Folder folder;
  folder.with("annotations/instances_val.json",
              coco(R"({"image_id":7,"category_id":18,"bbox":[1,2,3.5,4],"area":9,"iscrowd":1},)"
                   R"({"image_id":5,"category_id":1,"bbox":[0,0,2,2],"keypoints":[1,2,2,0,0,0]})"));
  const DataSet data = read(folder.path());
  ck_assert(data.kind == Annotations::kCoco);
  ck_assert(data.classes == (std::vector<std::string>{"person", "dog"}));
  ck_assert_uint_eq(data.pictures.size(), 2);
  ck_assert_int_eq(data.pictures[0].id, 5);
  const evaluate::Truth& person = data.pictures[0].truths.at(0);
  ck_assert(person.class_id == 0 && person.area == 4 && !person.crowd);
  ck_assert_uint_eq(person.points.size(), 2);
  ck_assert(person.points[0].x == 1 && person.points[0].confidence == 2 &&
            person.points[1].confidence == 0);
  const evaluate::Truth& dog = data.pictures[1].truths.at(0);
  ck_assert(dog.class_id == 1 && dog.crowd && dog.area == 9 && dog.box.width == 3.5);
}

DVNN_TEST(coco_pictures_are_found_where_they_usually_are) {
  for (const char* where :
       {"annotations/", "annotations/images/", "", "images/", "val2017/", "images/val2017/"}) {
    const Folder folder;
    folder.with("annotations/instances_val2017.json", coco("")).with(std::string(where) + "a.jpg");
    folder.with(std::string(where) + "b.jpg");
    DataSet data = read(folder.path());
    const Status found = locate_pictures(&data);
    ck_assert_msg(found.ok(), "%s: %s", where, found.ok() ? "" : found.error().message.c_str());
    ck_assert_msg(
        std::filesystem::equivalent(data.pictures[1].path, folder.at(std::string(where) + "b.jpg")),
        "%s", where);
  }
  const Folder folder;
  DataSet data = read(folder.with("in.json", coco("")).path());
  const Status missing = locate_pictures(&data);
  ck_assert(!missing.ok());
  ck_assert_msg(missing.error().message.find("picture 'a.jpg' of '" + folder.at("in.json") +
                                             "' is in none of '") == 0,
                "%s", missing.error().message.c_str());
}

DVNN_TEST(faulty_coco_is_refused_by_its_place) {
  expect_coco_refused("", "'FOLDER/a.json' is not JSON");
  expect_coco_refused("[]",
                      "'FOLDER/a.json' is not an object with images, categories and annotations");
  expect_coco_refused("{}", "'FOLDER/a.json' has no list 'categories', as COCO's annotations have");
  expect_coco_refused(R"({"categories":[1]})",
                      "categories 0 of 'FOLDER/a.json' is 1, and not an object");
  expect_coco_refused(coco("", "", R"({"id":1,"name":"a"},{"id":1,"name":"b"})"),
                      "categories 1 of 'FOLDER/a.json': the id 1 is there twice");
  expect_coco_refused(coco("", "", R"({"id":1,"name":"a\nb"})"),
                      "categories 0 of 'FOLDER/a.json': 'a?b' is no name of a class: a line of "
                      "text of at most 1024 bytes");
  expect_coco_refused(coco("", R"({"id":3,"file_name":"a"},{"id":3,"file_name":"b"})"),
                      "'FOLDER/a.json', images: the id 3 is there twice");
  for (const char* name : {"../a.jpg", "/etc/passwd", "a/../../b", ""}) {
    expect_coco_refused(coco("", std::string(R"({"id":1,"file_name":")") + name + "\"}"),
                        std::string("images 0 of 'FOLDER/a.json': file_name '") + name +
                            "' is no name within the folder of pictures");
  }
  expect_coco_refused(
      coco(R"({"image_id":6,"category_id":1,"bbox":[0,0,1,1]})"),
      "field 'image_id' of annotations 0 of 'FOLDER/a.json': 6 is the id of none of the images");
  expect_coco_refused(coco(R"({"image_id":5,"category_id":2,"bbox":[0,0,1,1]})"),
                      "field 'category_id' of annotations 0 of 'FOLDER/a.json': 2 is the id of "
                      "none of the categories");
  for (const char* box : {"[0,0,1]", "[0,0,-1,1]", "[0,0,\"1\",1]", "[1e300,0,1,1]", "7"}) {
    expect_coco_refused(coco(std::string(R"({"image_id":5,"category_id":1,"bbox":)") + box + "}"),
                        std::string("field 'bbox' of annotations 0 of 'FOLDER/a.json': ") +
                            (box[0] == '[' ? "a list" : box) +
                            ", and not x, y, width and height in pixels");
  }
  expect_coco_refused(
      coco(R"({"image_id":5,"category_id":1,"bbox":[0,0,1,1],"keypoints":[1,2]})"),
      "field 'keypoints' of annotations 0 of 'FOLDER/a.json': is no list of x, y and visibility");
}

DVNN_TEST(one_of_several_coco_files_has_to_be_named) {
  const Folder folder;
  folder.with("annotations/a.json", coco("")).with("annotations/b.json", coco(""));
  expect_refused(folder, "",
                 "'FOLDER' has 2 JSON files, such as 'FOLDER/annotations/a.json' and "
                 "'FOLDER/annotations/b.json': name one of "
                 "them instead of the folder");
  ck_assert_uint_eq(read(folder.at("annotations/b.json")).pictures.size(), 2);
}

DVNN_TEST(results_are_matched_by_ids) {
  const Folder folder;
  folder.with("in.json", coco(""));
  folder.with("found.json", R"([{"image_id":7,"category_id":18,"bbox":[1,2,3,4],"score":0.5},
    {"image_id":7,"category_id":1,"keypoints":[1,2,1,5,8,1],"score":0.25}])");
  const DataSet data = read(folder.at("in.json"));
  const auto found = evaluate::read_coco_results(folder.at("found.json"), data);
  ck_assert_msg(found.ok(), "%s", found.ok() ? "" : found.error().message.c_str());
  ck_assert(found.value()[0].empty() && found.value()[1].size() == 2);
  ck_assert(found.value()[1][0].class_id == 1 && found.value()[1][0].score == 0.5);
  ck_assert(found.value()[1][1].box.width == 4 && found.value()[1][1].box.height == 6);
  folder.with("found.json", R"([{"image_id":9,"category_id":1,"bbox":[1,2,3,4],"score":1}])");
  const auto bad = evaluate::read_coco_results(folder.at("found.json"), data);
  ck_assert(!bad.ok());
  const std::string why = "field 'image_id' of result 0 of '" + folder.at("found.json") +
                          "': 9 is the id of none of the images";
  dvnn_assert_text(bad.error().message, why.c_str());
}

// --- YOLO
// -----------------------------------------------------------------------------------------

DVNN_TEST(yolo_lines_are_boxes_around_their_middle_and_outlines) {
  const Folder folder;
  folder.with("data.yaml", "names: [cat, 'dog, large']\n")
      .with("images/b.png")
      .with("images/a.jpg");
  folder.with("labels/a.txt", "1 0.5 0.5 0.25 0.5\r\n\n0 0 0 1 0 1 0.5\n");
  const DataSet data = read(folder.path());
  ck_assert(data.kind == Annotations::kYolo && data.named);
  ck_assert(data.classes == (std::vector<std::string>{"cat", "dog, large"}));
  ck_assert_uint_eq(data.pictures.size(), 2);
  const auto& truths = data.pictures[0].truths;
  ck_assert(truths.size() == 2 && data.pictures[1].truths.empty() && data.pictures[0].in_fractions);
  ck_assert(truths[0].class_id == 1 && truths[0].box.x == 0.375 && truths[0].box.y == 0.25 &&
            truths[0].area == 0.125);
  // A triangle of half a box of 1 x 0.5.
  ck_assert(truths[1].box.width == 1 && truths[1].box.height == 0.5 && truths[1].area == 0.25);
}

DVNN_TEST(yolo_folders_are_found_in_each_order) {
  const struct {
    const char *picture, *labels, *yaml, *data;
  } kCases[] = {{"images/val/a.jpg", "labels/val/a.txt", "data.yaml", ""},
                {"images/val/a.jpg", "labels/val/a.txt", "data.yaml", "images/val"},
                {"images/val/a.jpg", "labels/val/a.txt", "data.yaml", "data.yaml"},
                {"valid/images/a.jpg", "valid/labels/a.txt", "data.yaml", "valid"},
                {"a.jpg", "a.txt", "", ""}};
  for (const auto& c : kCases) {
    const Folder folder;
    folder.with(c.picture).with(c.labels, "0 .5 .5 1 1\n");
    folder.with("images/train/other.jpg").with("labels/train/other.txt", "0 .5 .5 1 1\n");
    if (!*c.yaml) std::filesystem::remove_all(folder.at("images"));
    if (!*c.yaml) std::filesystem::remove_all(folder.at("labels"));
    if (*c.yaml) folder.with(c.yaml, "val: images/val\nnames:\n- cat\n");
    const DataSet data = read(folder.at(c.data), Annotations::kYolo);
    ck_assert_msg(data.pictures.size() == 1, "%s: %zu pictures", c.data, data.pictures.size());
    ck_assert_uint_eq(data.pictures[0].truths.size(), 1);
    dvnn_assert_text(data.classes.at(0), *c.yaml ? "cat" : "class 0");
    ck_assert(data.named == (*c.yaml != 0));
  }
}

DVNN_TEST(faulty_yolo_lines_are_refused_with_file_and_line) {
  const struct {
    const char *line, *why;
  } kCases[] = {
      {"0 .5 .5 1",
       "has 4 numbers, and not a class and x, y, width and height, or a class and the corners of "
       "an outline"},
      {"cat .5 .5 1 1", "is not a list of numbers"},
      {"0 .5 .5 nan 1", "is not a list of numbers"},
      {"0 .5 .5 1e999 1", "is not a list of numbers"},
      {"0.5 .5 .5 1 1", "does not begin with the index of a class"},
      {"-1 .5 .5 1 1", "does not begin with the index of a class"},
      {"0 320 240 64 64", "has coordinates that are not fractions of the picture, 0..1"},
  };
  for (const auto& c : kCases) {
    const Folder folder;
    folder.with("a.jpg").with("a.txt", std::string("0 .5 .5 1 1\n") + c.line + "\n");
    expect_refused(folder, "", std::string("'FOLDER/a.txt', line 2: '") + c.line + "' " + c.why);
  }
  const Folder folder;
  folder.with("images/a.jpg")
      .with("labels/a.txt", "2 .5 .5 1 1\n")
      .with("data.yaml", "names: {0: a, 1: b}\n");
  expect_refused(folder, "",
                 "'FOLDER/labels/a.txt' has an object of class 2; 'FOLDER/data.yaml' has the names "
                 "of 2 classes");
  const Folder without;
  without.with("images/a.jpg").with("data.yaml", "names: [a]\n");
  expect_refused(
      without, "",
      "none of the pictures in 'FOLDER/images' has annotations: 'FOLDER/labels/a.txt' is missing");
}

DVNN_TEST(data_yaml_is_read_as_exporters_write_it) {
  const struct {
    const char* text;
    std::vector<std::string> names;
  } kCases[] = {{"names: ['a', \"b # c\", d]  # those\n", {"a", "b # c", "d"}},
                {"names:\n  0: a\n  1: 'b: c'\nnc: 2\n", {"a", "b: c"}},
                {"nc: 2\nnames:\n- a\n- b\ntrain: x\n", {"a", "b"}},
                {"names: [\n  a,\n  b]\n", {"a", "b"}},
                {"download: |\n  import os\n  names: 5\nval: x\n", {}}};
  for (const auto& c : kCases) {
    const Folder folder;
    const auto yaml = evaluate::read_yolo_yaml(folder.with("d.yaml", c.text).at("d.yaml"));
    ck_assert_msg(yaml.ok(), "%s: %s", c.text, yaml.ok() ? "" : yaml.error().message.c_str());
    ck_assert_msg(yaml.value().names == c.names, "%s", c.text);
  }
  const struct {
    const char *text, *why;
  } kFaulty[] = {
      {"hello\n", "line 1: 'hello' is no key with a value"},
      {"names: 5\n", "line 1: 'names' is '5', and not a list"},
      {"names: [a\n", "line 1: the list 'names' does not end"},
      {"names:\n  0: a\n  2: b\n",
       "line 3: class 2 follows 1 others; classes are numbered from 0 on, at most 65536"},
      {"names:\n  a: b\n", "line 2: 'a: b' is not an index and the name of a class"},
      {"kpt_shape: [0, 3]\n", "line 1: kpt_shape is '[0, 3]', and not [points, 2 or 3]"}};
  for (const auto& c : kFaulty) {
    const Folder folder;
    const auto yaml = evaluate::read_yolo_yaml(folder.with("d.yaml", c.text).at("d.yaml"));
    ck_assert_msg(!yaml.ok(), "%s", c.text);
    const std::string why = "'" + folder.at("d.yaml") + "', " + c.why;
    dvnn_assert_text(yaml.error().message, why.c_str());
  }
}

DVNN_TEST(yolo_poses_have_points) {
  const Folder folder;
  folder.with("images/a.jpg").with("data.yaml", "kpt_shape: [2, 3]\nnames: [a]\n");
  folder.with("labels/a.txt", "0 .5 .5 .5 .5 .25 .5 2 0 0 0\n");
  const DataSet data = read(folder.path());
  const auto& points = data.pictures[0].truths.at(0).points;
  ck_assert_uint_eq(points.size(), 2);
  ck_assert(points[0].x == 0.25 && points[0].confidence == 1 && points[1].confidence == 0);
  folder.with("labels/a.txt", "0 .5 .5 .5 .5\n");
  expect_refused(folder, "",
                 "'FOLDER/labels/a.txt', line 1: '0 .5 .5 .5 .5' has 5 numbers, and not 11");
  folder.with("labels/a.txt", "0 .5 .5 .5 .5 .25 .5 2 .5 320 1\n");
  expect_refused(folder, "",
                 "'FOLDER/labels/a.txt', line 1: '0 .5 .5 .5 .5 .25 .5 2 .5 320 1' has coordinates "
                 "that are not fractions of the picture, 0..1");
}

// --- VOC and folders
// --------------------------------------------------------------------------------

namespace {

std::string voc_object(const std::string& name, const std::string& xmin,
                       const std::string& more = "") {
  return "<object><name>" + name + "</name>" + more + "<bndbox><xmin>" + xmin +
         "</xmin><ymin>2</ymin><xmax>10</xmax><ymax>4</ymax></bndbox></object>";
}

}  // namespace

DVNN_TEST(voc_counts_pixels_from_one) {
  const Folder folder;
  folder.with("JPEGImages/a.jpg");
  folder.with("Annotations/a.xml", "<?xml version=\"1.0\"?><annotation><filename>a.jpg</filename>" +
                                       voc_object("dog", " 1 ") +
                                       voc_object("cat", "3", "<difficult>1</difficult>") +
                                       "</annotation>");
  const DataSet data = read(folder.path());
  ck_assert(data.kind == Annotations::kVoc);
  ck_assert(data.classes == (std::vector<std::string>{"cat", "dog"}));
  const auto& truths = data.pictures.at(0).truths;
  ck_assert(truths[0].class_id == 1 && truths[0].box.x == 0 && truths[0].box.width == 10 &&
            truths[0].box.height == 3);
  ck_assert(!truths[0].ignored && truths[1].ignored && truths[1].class_id == 0);
}

DVNN_TEST(faulty_voc_is_refused_with_file_and_line) {
  const auto refused = [](const std::string& text, const std::string& why) {
    const Folder folder;
    folder.with("a.jpg").with("a.xml", text);
    expect_refused(folder, "", why);
  };
  refused("<annotation>\n" + voc_object("a", "x") + "</annotation>",
          "'FOLDER/a.xml', line 2: xmin of the box is 'x', and not a number of pixels");
  refused("<annotation>\n\n" + voc_object("a", "11") + "</annotation>",
          "'FOLDER/a.xml', line 3: the box 11,2 .. 10,4 ends before it begins");
  refused("<annotation>" + voc_object("", "1") + "</annotation>",
          "'FOLDER/a.xml', line 1: '' is no name of a class: a line of text of at most 1024 bytes");
  const Folder folder;
  expect_refused(
      folder.with("a.xml", "<annotation></annotation>"), "",
      "the picture '' of 'FOLDER/a.xml' is not beside it, nor in ../JPEGImages or ../images");
  std::string deep;
  for (int i = 0; i < 100000; ++i) deep += "<a>";
  for (const std::string& text :
       {deep, std::string("<annotation>"), std::string("<a></b>"), std::string("\xff\xfe")}) {
    const Folder broken;
    const auto data =
        evaluate::read_data_set(broken.with("a.jpg").with("a.xml", text).path(), Annotations::kVoc);
    ck_assert(!data.ok());
    ck_assert_msg(data.error().message.find("'" + broken.at("a.xml") + "': ") == 0, "%s",
                  data.error().message.c_str());
  }
}

DVNN_TEST(folders_are_classes) {
  const Folder folder;
  folder.with("dog/a.JPEG").with("dog/b.png").with("cat/c.jpg").with("cat/readme.txt");
  const DataSet data = read(folder.path());
  ck_assert(data.kind == Annotations::kFolders &&
            data.classes == (std::vector<std::string>{"cat", "dog"}));
  ck_assert(data.pictures.size() == 3 && data.pictures[0].class_id == 0 &&
            data.pictures[2].class_id == 1);
}

DVNN_TEST(texts_are_lines_of_a_file) {
  const Folder folder;
  folder.with("words/a.png")
      .with("words/b.png")
      .with("rec_gt.txt",
            "words/a.png\tGr\xc3\xbc\xc3\x9f e\r\n\n"
            "words/b.png\t");
  DataSet data = read(folder.path());
  ck_assert(data.kind == Annotations::kTexts && data.pictures.size() == 2);
  ck_assert(data.pictures[0].path == folder.at("words/a.png"));
  dvnn_assert_text(data.pictures[0].text, "Gr\xc3\xbc\xc3\x9f e");
  dvnn_assert_text(data.pictures[1].text, "");
  const Folder icdar;
  icdar.with("w_1.png").with("w_2.png").with(
      "gt.txt", "\xef\xbb\xbfw_1.png, \"7, \\\"A\\\"\"\nw_2.png, \"\"\n");
  data = read(icdar.at("gt.txt"));
  dvnn_assert_text(data.pictures.at(0).text, "7, \"A\"");
  dvnn_assert_text(data.pictures.at(1).text, "");
  expect_refused(icdar.with("gt.txt", "w_1.png, \"A\"\nw_2.png, A\n"), "",
                 "'FOLDER/gt.txt', line 2: 'w_2.png, A' is not the name of a picture, a tab and "
                 "its text");
  expect_refused(icdar.with("gt.txt", "w_3.png\tA\n"), "",
                 "'FOLDER/gt.txt', line 1: picture 'FOLDER/w_3.png' is missing");
  expect_refused(icdar.with("gt.txt", "w_1.png\t\x01\n"), "",
                 "'FOLDER/gt.txt', line 1: the text is not a line of at most 4096 bytes of UTF-8");
}

DVNN_TEST(masks_lie_beside_pictures) {
  const Folder folder;
  folder.with("images/sub/a.jpg").with("masks/sub/a.png");
  DataSet data = read(folder.path());
  ck_assert(data.kind == Annotations::kMasks && !data.named && data.classes.size() == 255);
  ck_assert(data.pictures.at(0).mask == folder.at("masks/sub/a.png"));
  data = read(folder.with("classes.txt", "road\nsky\n").path());
  ck_assert(data.named && data.classes == (std::vector<std::string>{"road", "sky"}));
  expect_refused(folder.with("images/b.jpg"), "",
                 "picture 'FOLDER/images/b.jpg' has no mask 'FOLDER/masks/b.png'");
}

// Any bytes in place of any others are read or refused; the sanitizers see what else happens.
DVNN_TEST(broken_annotations_are_read_or_refused) {
  const struct {
    const char* name;
    std::string text;
    Annotations kind;
  } kFiles[] = {
      {"a.json",
       coco(
           R"({"image_id":7,"category_id":18,"bbox":[1,2,3.5,4],"area":9,"iscrowd":1,"keypoints":[1,2,2]})"),
       Annotations::kCoco},
      {"labels/a.txt", "0 0.5 0.5 0.25 0.5\n0 0 0 1 0 1 0.5\n", Annotations::kYolo},
      {"data.yaml", "path: .\nval: images\nkpt_shape: [2, 3]\nnames: {0: 'a', 1: b}\n",
       Annotations::kYolo},
      {"Annotations/a.xml",
       "<annotation><filename>a.jpg</filename>" + voc_object("dog", "1") + "</annotation>",
       Annotations::kVoc},
      {"gt.txt", "images/a.jpg\tabc\nimages/a.jpg, \"a\\\"b\"\n", Annotations::kTexts},
      {"gt/gt.txt", "1,7,0.5,-1,9,8,1,1,.5\n2 7 0 0 9 8\n", Annotations::kMot}};
  constexpr char kOthers[] = "0123456789-.e[]{}<>\"',:/\n \0\xff";
  std::mt19937 random(dvnn_seed(11));
  const Folder folder;
  folder.with("images/a.jpg").with("labels/a.txt", "0 .5 .5 1 1\n");
  size_t accepted = 0, refused = 0;
  for (const auto& file : kFiles) {
    for (int round = 0; round < dvnn_rounds(400); ++round) {
      std::string text = file.text;
      for (unsigned changes = random() % 4 + 1; changes > 0; --changes) {
        const size_t at = random() % text.size();
        const char other = kOthers[random() % sizeof kOthers];
        if (random() % 3 == 0) {
          text.erase(at, random() % 8 + 1);
        } else if (random() % 2 == 0) {
          text.insert(at, text.substr(random() % text.size(), random() % 12));
        } else {
          text[at] = other;
        }
        if (text.empty()) text = " ";
      }
      folder.with(file.name, text);
      const auto data = evaluate::read_data_set(folder.path(), file.kind);
      ck_assert(data.ok() || !data.error().message.empty());
      ++(data.ok() ? accepted : refused);
    }
    std::filesystem::remove(folder.at(file.name));
    folder.with("labels/a.txt", "0 .5 .5 1 1\n");
  }
  // Both happen, or the changes are of no use.
  ck_assert_uint_gt(accepted, 0);
  ck_assert_uint_gt(refused, 0);
}

// A pipe is not waited for, and neither it nor a broken link counts as a file that is missing,
// which would make a picture without objects of it, or classes without names.
DVNN_TEST(what_is_no_file_is_not_a_missing_one) {
  const Folder yolo, masks;
  yolo.with("images/a.jpg").with("images/b.jpg").with("labels/b.txt", "0 .5 .5 1 1\n");
  masks.with("images/a.jpg").with("masks/a.png");
  const struct {
    const Folder& folder;
    const char* name;
  } kCases[] = {{yolo, "labels/a.txt"}, {yolo, "classes.txt"}, {masks, "classes.txt"}};
  for (const auto& c : kCases) {
    const std::string path = c.folder.at(c.name);
    const std::string named = std::string("'FOLDER/") + c.name + "'";
    ck_assert_int_eq(mkfifo(path.c_str(), 0600), 0);
    expect_refused(c.folder, "", named + " is not a regular file");
    std::filesystem::remove(path);
    std::filesystem::create_symlink("nowhere", path);
    expect_refused(c.folder, "", named + ": No such file or directory");
    std::filesystem::remove(path);
    (void)read(c.folder.path());
  }
}

// A data set of links, some of which are broken, would be measured by the others alone.
DVNN_TEST(pictures_that_are_no_files_are_not_left_out) {
  const Folder folder;
  folder.with("images/a.jpg").with("labels/a.txt", "0 .5 .5 1 1\n").with("images/c.jpg/b.jpg");
  const std::string path = folder.at("images/b.jpg");
  const std::string why = "'FOLDER/images/b.jpg' is not a regular file, or a broken link";
  ck_assert_uint_eq(read(folder.path()).pictures.size(), 2);
  ck_assert_int_eq(mkfifo(path.c_str(), 0600), 0);
  expect_refused(folder, "", why);
  std::filesystem::remove(path);
  std::filesystem::create_symlink("nowhere", path);
  expect_refused(folder, "", why);
}

// Rounding may make a width of nothing a little less; an area of less than nothing is a mistake.
DVNN_TEST(no_box_is_less_than_nothing) {
  const Folder folder;
  folder.with("a.jpg").with("a.txt", "0 .5 .5 -0.0005 -0.0001\n");
  const evaluate::Box box = read(folder.path()).pictures.at(0).truths.at(0).box;
  ck_assert(box.width == 0 && box.height == 0 && box.x == 0.5);
  const Folder other;
  const std::string area = coco(R"({"image_id":7,"category_id":18,"bbox":[1,2,3.5,4],"area":-2})");
  other.with("a.jpg").with("c.json", area);
  const auto data = evaluate::read_data_set(other.at("c.json"), Annotations::kCoco);
  ck_assert(!data.ok() && data.error().message.find("area") != std::string::npos);
}

DVNN_TEST(what_has_no_annotations_is_refused) {
  const Folder folder;
  expect_refused(
      folder.with("a.jpg"), "",
      "'FOLDER' has no annotations that are known: no JSON file (COCO), no labels/*.txt or "
      "data.yaml (YOLO), no "
      "Annotations/*.xml (Pascal VOC), no masks, no gt.txt (texts), no gt/gt.txt (MOT), and no "
      "folders of pictures (a "
      "folder for each "
      "class)");
  expect_refused(folder, "nowhere", "'FOLDER/nowhere' is no folder and no file");
  expect_refused(folder.with("x/y.txt"), "x", "'FOLDER/x' has no pictures", Annotations::kYolo);
  expect_refused(folder, "x", "'FOLDER/x' has no .xml files, nor has 'Annotations' in it",
                 Annotations::kVoc);
  expect_refused(folder, "x", "'FOLDER/x' has no JSON file, nor has 'annotations' in it",
                 Annotations::kCoco);
}

}  // namespace dvnn::test::annotations_tests
