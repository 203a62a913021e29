// SPDX-License-Identifier: Apache-2.0
// The gallery's file, and the search in it.
#include "match/gallery.h"

#include <chrono>
#include <cstdio>
#include <string>

#include "check_suite.h"
#include "crowd.h"

namespace dvnn::test::match_gallery_tests {

DVNN_SUITE(match_gallery);

using match::Gallery;
using match::Person;
using match_crowd::Crowd;
using match_crowd::Vector;

static Gallery gallery_of(Crowd* crowd, size_t vectors_each) {
  Gallery gallery;
  for (size_t i = 0; i < crowd->size(); ++i) {
    Person person;
    person.name = "person " + std::to_string(i);
    for (size_t j = 0; j < vectors_each; ++j) {
      const Vector seen = crowd->look(i);
      person.vectors.insert(person.vectors.end(), seen.begin(), seen.end());
      gallery.length = seen.size();
    }
    gallery.people.push_back(std::move(person));
  }
  return gallery;
}

DVNN_TEST(the_search_finds_what_comparing_all_finds) {
  for (int round = 0; round < dvnn_rounds(32) + 1; ++round) {
    const size_t length = 1 + 37 * static_cast<size_t>(round) % 300;
    Crowd crowd(50, length, 2, dvnn_seed(100 + static_cast<unsigned>(round)));
    const Gallery gallery = gallery_of(&crowd, 3);
    const Vector look = crowd.look(static_cast<size_t>(round) % 50);
    std::vector<std::pair<double, std::string>> wanted;
    for (const Person& person : gallery.people) {
      double best = -2;
      for (size_t at = 0; at < person.vectors.size(); at += length) {
        const auto begin = person.vectors.begin() + static_cast<std::ptrdiff_t>(at);
        best =
            std::max(best, match_crowd::cosine_of(
                               look, Vector(begin, begin + static_cast<std::ptrdiff_t>(length))));
      }
      wanted.emplace_back(best, person.name);
    }
    std::sort(wanted.rbegin(), wanted.rend());
    const match::Best best = match::find_best(gallery, look);
    ck_assert_double_eq_tol(best.likeness, wanted[0].first, 1e-5);
    ck_assert_double_eq_tol(best.other, wanted[1].first, 1e-5);
    if (wanted[0].first - wanted[1].first > 1e-5) {
      ck_assert_str_eq(best.first->name.c_str(), wanted[0].second.c_str());
    }
    ck_assert_ptr_ne(best.first, best.second);
  }
}

DVNN_TEST(a_vector_of_another_length_is_like_nobody) {
  Crowd crowd(2, 8, 1, 1);
  const Gallery gallery = gallery_of(&crowd, 1);
  ck_assert_ptr_null(match::find_best(gallery, Vector(7, 0.1f)).first);
  ck_assert_ptr_null(match::find_best(Gallery(), Vector(8, 0.1f)).first);
}

// Of 10,000 people each is found, and the file holds them; of fewer where that takes long. No limit
// of time: the figure is printed.
DVNN_TEST(ten_thousand_people_are_told_apart) {
  const auto people = static_cast<size_t>(dvnn_rounds(10000));
  Crowd crowd(people, 512, 1, dvnn_seed(7));
  const Gallery written = gallery_of(&crowd, 1);
  const auto read = match::parse_gallery(match::gallery_text(written), "it");
  ck_assert_msg(read.ok(), "%s", read.ok() ? "" : read.error().message.c_str());
  ck_assert_uint_eq(read.value().people.size(), people);
  const size_t step = people / static_cast<size_t>(dvnn_rounds(200) + 1);
  const auto begin = std::chrono::steady_clock::now();
  int searches = 0;
  for (size_t i = 0; i < people; i += step, ++searches) {
    const match::Best best = match::find_best(read.value(), crowd.look(i));
    ck_assert(best.first->name == "person " + std::to_string(i));
  }
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
  std::printf("%zu x 512: %.2f ms a search\n", people, took.count() / searches);
}

DVNN_TEST(a_file_reads_back_what_was_written) {
  Crowd crowd(5, 20, 1, 3);
  Gallery gallery = gallery_of(&crowd, 2);
  gallery.network = "faces.dvn";
  gallery.threshold = 0.41;
  gallery.margin = 0.03;
  gallery.people[1].name = "\xc3\x89milie \"du\" Ch\xc3\xa2telet";
  gallery.people[2].version = 1764000000000;
  gallery.forgotten.push_back({"00112233445566778899aabbccddeeff", 17});
  Person stranger;
  stranger.stranger = 41;
  stranger.first = 5;
  stranger.last = 6;
  stranger.vectors = crowd.look(0);
  gallery.people.push_back(stranger);
  const std::string text = match::gallery_text(gallery);
  const auto read = match::parse_gallery(text, "it");
  ck_assert_msg(read.ok(), "%s", read.ok() ? "" : read.error().message.c_str());
  const Gallery& back = read.value();
  ck_assert_uint_eq(back.length, 20);
  ck_assert_str_eq(back.network.c_str(), "faces.dvn");
  ck_assert_double_eq(*back.threshold, 0.41);
  ck_assert_double_eq(*back.margin, 0.03);
  ck_assert_uint_eq(back.next, 42);
  ck_assert_uint_eq(back.people.size(), 6);
  for (size_t i = 0; i < 6; ++i) {
    ck_assert_str_eq(back.people[i].name.c_str(), gallery.people[i].name.c_str());
    ck_assert_uint_eq(back.people[i].vectors.size(), gallery.people[i].vectors.size());
    for (size_t j = 0; j < back.people[i].vectors.size(); ++j) {
      ck_assert_float_eq_tol(back.people[i].vectors[j], gallery.people[i].vectors[j], 1e-6f);
    }
  }
  ck_assert_int_eq(back.people[2].version, 1764000000000);
  ck_assert_uint_eq(back.people[5].stranger, 41);
  ck_assert_int_eq(back.forgotten.at(0).version, 17);
}

DVNN_TEST(vectors_of_people_who_write_are_brought_to_length_1) {
  const auto read = match::parse_gallery(
      "{\"dvnn-gallery\":1}\n\n{\"name\":\"Ada\",\"vectors\":[3,0,4]}\r\n", "it");
  ck_assert(read.ok());
  ck_assert_uint_eq(read.value().length, 3);
  ck_assert_float_eq_tol(read.value().people[0].vectors[0], 0.6f, 1e-6f);
  ck_assert_float_eq_tol(read.value().people[0].vectors[2], 0.8f, 1e-6f);
}

DVNN_TEST(what_is_wrong_in_a_file_is_told_with_its_line) {
  const std::string head = "{\"dvnn-gallery\":1,\"length\":2}\n";
  const std::pair<std::string, const char*> wrong[] = {
      {"", "it has no line: it needs {\"dvnn-gallery\":1} at least"},
      {"{\"name\":\"Ada\",\"vectors\":[1,2]}\n", "it, line 1: there is no field 'name'"},
      {"{\"length\":2}", "it, line 1 is not the first one of a gallery"},
      {"{\"dvnn-gallery\":2}", "line 1"},
      {"{\"dvnn-gallery\":1,\"length\":5000}", "line 1"},
      {"{\"dvnn-gallery\":1,\"threshold\":1.5}", "'threshold' of it, line 1: must be in -1..1"},
      {head + "[]", "line 2"},
      {head + "\n{", "it, line 3 is no object of JSON on one line"},
      {head + "{\"name\":\"Ada\"}", "it, line 2: 'vectors' has 0 numbers"},
      {head + "{\"name\":\"Ada\",\"vectors\":[1,2,3]}", "it, line 2: 'vectors' has 3 numbers"},
      {head + "{\"name\":\"Ada\",\"vectors\":[0,0]}", "it, line 2: vector 1 has no direction"},
      {head + "{\"name\":\"Ada\",\"vectors\":[1,0,1e39,0]}", "line 2"},
      {head + "{\"name\":\"Ada\",\"vectors\":\"AAAA\"}", "line 2"},
      {head + "{\"name\":\"\",\"vectors\":[1,2]}", "it, line 2: a name must not be empty"},
      {head + "{\"name\":\"a\\u001bb\",\"vectors\":[1,2]}", "cannot be shown"},
      {head + "{\"name\":\"" + std::string(201, 'a') + "\",\"vectors\":[1,2]}", "has 201 bytes"},
      {head + "{\"name\":7,\"vectors\":[1,2]}", "line 2"},
      {head + "{\"nmae\":\"Ada\",\"vectors\":[1,2]}", "there is no field 'nmae'"},
      {head + "{\"stranger\":0,\"vectors\":[1,2]}", "line 2"},
      {head + "{\"stranger\":1,\"name\":\"Ada\",\"vectors\":[1,2]}", "line 2"},
      {head + "{\"name\":\"Ada\",\"length\":1,\"vectors\":[1,2]}", "line 2"},
      {head + "{\"name\":\"Ada\",\"name\":\"Bob\",\"vectors\":[1,2]}", "line 2"},
      {head + "{\"name\":\"Ada\",\"vectors\":[1,2]}\n{\"name\":\"Ada\",\"vectors\":[2,1]}",
       "it, line 3: 'Ada' has a line above"},
      {head + "{\"forgotten\":\"Ada\",\"version\":1}", "is no id of a person"},
  };
  for (const auto& [text, message] : wrong) {
    const auto read = match::parse_gallery(text, "it");
    ck_assert_msg(!read.ok(), "taken: %s", text.c_str());
    ck_assert_msg(read.error().message.find(message) != std::string::npos, "'%s' for '%s'",
                  read.error().message.c_str(), message);
  }
}

DVNN_TEST(an_id_does_not_tell_the_name) {
  Person ada;
  ada.name = "Ada";
  // printf Ada | sha256sum
  dvnn_assert_text(match::id_of(ada), "99a563ab2f6e21e96998f9fddd2a2bab");
  Person stranger;
  stranger.stranger = 17;
  dvnn_assert_text(match::id_of(stranger), "stranger-17");
}

}  // namespace dvnn::test::match_gallery_tests
