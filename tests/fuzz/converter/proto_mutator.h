// SPDX-License-Identifier: Apache-2.0
// Mutates a protocol buffer field by field: flipped bytes would destroy lengths and tags, and never
// get past the parser.
#pragma once

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "target.h"

namespace dvnn::fuzz {

class ProtoMutator {
 public:
  using Message = google::protobuf::Message;
  using Field = google::protobuf::FieldDescriptor;

  /// `words`: texts that the reader knows, such as types of layers and names of attributes.
  explicit ProtoMutator(std::vector<std::string> words) : words_(std::move(words)) {}

  void mutate(Message* root, unsigned seed) {
    random_.seed(seed + 1);
    for (unsigned left = 1 + pick(3); left > 0; --left) {
      messages_.clear();
      texts_.clear();
      collect(root, 0);
      Message* message = messages_[pick(messages_.size())];
      change(message, any_field(*message));
    }
  }

 private:
  unsigned pick(size_t count) { return static_cast<unsigned>(random_() % count); }

  void collect(Message* message, int depth) {
    constexpr int kMostDepth = 16;
    messages_.push_back(message);
    if (depth == kMostDepth) return;
    const auto* reflection = message->GetReflection();
    std::vector<const Field*> fields;
    reflection->ListFields(*message, &fields);
    for (const Field* field : fields) {
      const int count = field->is_repeated() ? reflection->FieldSize(*message, field) : 1;
      for (int i = 0; i < count; ++i) {
        if (field->cpp_type() == Field::CPPTYPE_MESSAGE) {
          collect(field->is_repeated() ? reflection->MutableRepeatedMessage(message, field, i)
                                       : reflection->MutableMessage(message, field),
                  depth + 1);
        } else if (field->cpp_type() == Field::CPPTYPE_STRING) {
          texts_.push_back(field->is_repeated() ? reflection->GetRepeatedString(*message, field, i)
                                                : reflection->GetString(*message, field));
        }
      }
    }
  }

  // Returns mostly a field that is set.
  const Field* any_field(const Message& message) {
    std::vector<const Field*> fields;
    message.GetReflection()->ListFields(message, &fields);
    const auto* descriptor = message.GetDescriptor();
    if (fields.empty() || pick(4) == 0) {
      const int count = descriptor->field_count();
      return count > 0 ? descriptor->field(static_cast<int>(pick(static_cast<size_t>(count))))
                       : nullptr;
    }
    return fields[pick(fields.size())];
  }

  void change(Message* message, const Field* field) {
    if (!field) return;
    const auto* reflection = message->GetReflection();
    if (!field->is_repeated()) {
      if (pick(8) == 0) return reflection->ClearField(message, field);
      return field->cpp_type() == Field::CPPTYPE_MESSAGE ? change_message(message, field)
                                                         : set(message, field, -1);
    }
    const int count = reflection->FieldSize(*message, field);
    const int at = count > 0 ? static_cast<int>(pick(static_cast<size_t>(count))) : -1;
    switch (pick(6)) {
      case 0:
        if (count > 0) reflection->RemoveLast(message, field);
        break;
      case 1:
        if (count > 1) reflection->SwapElements(message, field, at, count - 1);
        break;
      case 2:
      case 3:
        if (count < kMostRepeated) add(message, field, at);
        break;
      default:
        if (at < 0) {
          add(message, field, at);
        } else if (field->cpp_type() != Field::CPPTYPE_MESSAGE) {
          set(message, field, at);
        } else if (field->message_type() == message->GetDescriptor()) {
          break;
        } else {
          copy_alike(reflection->MutableRepeatedMessage(message, field, at));
        }
    }
  }

  // Adds an element, similar to number `at` if that exists.
  void add(Message* message, const Field* field, int at) {
    const auto* reflection = message->GetReflection();
    if (field->cpp_type() == Field::CPPTYPE_MESSAGE) {
      Message* added = reflection->AddMessage(message, field);
      if (at >= 0) added->CopyFrom(reflection->GetRepeatedMessage(*message, field, at));
      return;
    }
    set(message, field, kAdd);
  }

  void change_message(Message* message, const Field* field) {
    Message* inner = message->GetReflection()->MutableMessage(message, field);
    change(inner, any_field(*inner));
  }

  // Replaces the message by another one of its type.
  void copy_alike(Message* message) {
    std::vector<Message*> alike;
    for (Message* other : messages_) {
      if (other->GetDescriptor() == message->GetDescriptor() && other != message) {
        alike.push_back(other);
      }
    }
    if (alike.empty()) return;
    const std::unique_ptr<Message> copy(message->New());
    copy->CopyFrom(*alike[pick(alike.size())]);
    message->CopyFrom(*copy);
  }

  int64_t number(int64_t old) {
    static constexpr int64_t kOdd[] = {0,   1,  -1,        2,         3,         4,         7,
                                       8,   16, 255,       4096,      65535,     1 << 20,   1 << 28,
                                       100, -2, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN, 11};
    if (pick(2)) return kOdd[pick(std::size(kOdd))];
    return static_cast<int64_t>(static_cast<uint64_t>(old) + pick(17) - 8);
  }
  double real(double old) {
    static constexpr double kOdd[] = {0,
                                      1,
                                      -1,
                                      0.5,
                                      1e30,
                                      -1e30,
                                      1e-9,
                                      65504,
                                      1e-45,
                                      std::numeric_limits<double>::quiet_NaN(),
                                      std::numeric_limits<double>::infinity()};
    return pick(2) ? kOdd[pick(std::size(kOdd))] : old * (pick(5) - 2.0);
  }
  std::string text(const std::string& old) {
    constexpr size_t kMost = 256;
    const unsigned kind = pick(8);
    if (kind < 3 && !texts_.empty()) return texts_[pick(texts_.size())];
    if (kind < 6 && !words_.empty()) return words_[pick(words_.size())];
    std::string text = old.substr(0, kMost);
    const size_t size = text.size();
    text.resize(kMost);
    text.resize(LLVMFuzzerMutate(reinterpret_cast<uint8_t*>(text.data()), size, kMost));
    return text;
  }

  // Changes a plain value: the field's (-1), element `at`, or a new one.
  void set(Message* m, const Field* f, int at) {
    const auto* r = m->GetReflection();
#define DVNN_SET(kind, value)                                                       \
  {                                                                                 \
    const auto old = f->is_repeated() ? (at >= 0 ? r->GetRepeated##kind(*m, f, at)  \
                                                 : decltype(r->Get##kind(*m, f))()) \
                                      : r->Get##kind(*m, f);                        \
    const auto now = static_cast<std::decay_t<decltype(old)>>(value);               \
    at >= 0            ? r->SetRepeated##kind(m, f, at, now)                        \
    : f->is_repeated() ? r->Add##kind(m, f, now)                                    \
                       : r->Set##kind(m, f, now);                                   \
    return;                                                                         \
  }
    switch (f->cpp_type()) {
      case Field::CPPTYPE_INT32:
        DVNN_SET(Int32, number(old))
      case Field::CPPTYPE_INT64:
        DVNN_SET(Int64, number(old))
      case Field::CPPTYPE_UINT32:
        DVNN_SET(UInt32, number(old))
      case Field::CPPTYPE_UINT64:
        DVNN_SET(UInt64, number(static_cast<int64_t>(old)))
      case Field::CPPTYPE_FLOAT:
        DVNN_SET(Float, static_cast<float>(real(static_cast<double>(old))))
      case Field::CPPTYPE_DOUBLE:
        DVNN_SET(Double, real(old))
      case Field::CPPTYPE_BOOL:
        DVNN_SET(Bool, !old)
      case Field::CPPTYPE_STRING:
        DVNN_SET(String, text(old))
      case Field::CPPTYPE_ENUM: {
        const auto* type = f->enum_type();
        const auto* value =
            type->value(static_cast<int>(pick(static_cast<size_t>(type->value_count()))));
        at >= 0            ? r->SetRepeatedEnum(m, f, at, value)
        : f->is_repeated() ? r->AddEnum(m, f, value)
                           : r->SetEnum(m, f, value);
        return;
      }
      default:
        return;
    }
#undef DVNN_SET
  }

  static constexpr int kAdd = -1;
  static constexpr int kMostRepeated = 512;
  std::vector<std::string> words_;
  std::minstd_rand random_;
  std::vector<Message*> messages_;
  std::vector<std::string> texts_;
};

}  // namespace dvnn::fuzz
