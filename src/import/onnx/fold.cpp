// SPDX-License-Identifier: Apache-2.0
// Computes operators on constants: the shape arithmetic that exporters leave in models.
#include <algorithm>
#include <cmath>
#include <functional>

#include "base/format.h"
#include "base/nth.h"
#include "import/onnx/import.h"
#include "import/onnx/model.h"

namespace dvnn::import {
namespace {

// Models compute their shapes, anchors and grids; models without trained weights compute these,
// too.
constexpr int64_t kMostElements = int64_t{1} << 26;

Result<size_t> checked_count(const std::vector<int64_t>& dims) {
  const int64_t count = element_count(dims);
  if (count >= 0 && count <= kMostElements) return static_cast<size_t>(count);
  return too_large("a computed constant has impossible dimensions");
}

// Returns the strides of an operand in a broadcast result; 0 along dimensions that repeat.
std::vector<int64_t> broadcast_strides(const std::vector<int64_t>& from,
                                       const std::vector<int64_t>& to) {
  std::vector<int64_t> strides(to.size(), 0);
  int64_t stride = 1;
  for (size_t i = 0; i < from.size(); ++i) {
    const size_t f = from.size() - 1 - i, t = to.size() - 1 - i;
    if (from[f] != 1) strides[t] = stride;
    stride *= from[f];
  }
  return strides;
}

Result<std::vector<int64_t>> broadcast(const std::vector<int64_t>& a,
                                       const std::vector<int64_t>& b) {
  std::vector<int64_t> dims(std::max(a.size(), b.size()), 1);
  for (const auto* operand : {&a, &b}) {
    for (size_t i = 0; i < operand->size(); ++i) {
      int64_t& d = dims[dims.size() - 1 - i];
      const int64_t own = (*operand)[operand->size() - 1 - i];
      if (own != d && own != 1 && d != 1) {
        return malformed("constants of shapes that do not go together");
      }
      d = own == 1 ? d : own;
    }
  }
  return dims;
}

// Visits every index of `dims` in order with the offsets that the strides give.
template <typename Visit>
void walk(const std::vector<int64_t>& dims, const std::vector<std::vector<int64_t>>& strides,
          size_t count, Visit visit) {
  std::vector<int64_t> index(dims.size(), 0), offsets(strides.size(), 0);
  for (size_t n = 0; n < count; ++n) {
    visit(n, offsets);
    for (size_t d = dims.size(); d-- > 0;) {
      ++index[d];
      for (size_t k = 0; k < strides.size(); ++k) offsets[k] += strides[k][d];
      if (index[d] < dims[d]) break;
      for (size_t k = 0; k < strides.size(); ++k) offsets[k] -= strides[k][d] * dims[d];
      index[d] = 0;
    }
  }
}

Status fold_binary(const OnnxNode& node) {
  DVNN_ASSIGN(const auto a, node.constant(0));
  DVNN_ASSIGN(const auto b, node.constant(1));
  OnnxConstant out;
  out.integral = a->integral && b->integral;
  DVNN_ASSIGN(out.dims, broadcast(a->dims, b->dims));
  DVNN_ASSIGN(const size_t count, checked_count(out.dims));
  out.values.resize(count);
  const std::string& op = node.type();
  bool divides_by_zero = false;
  walk(out.dims, {broadcast_strides(a->dims, out.dims), broadcast_strides(b->dims, out.dims)},
       count, [&](size_t n, const std::vector<int64_t>& at) {
         const double x = nth(a->values, at[0]);
         const double y = nth(b->values, at[1]);
         double v = 0;
         if (op == "Add") v = x + y;
         if (op == "Sub") v = x - y;
         if (op == "Mul") v = x * y;
         if (op == "Div") {
           divides_by_zero |= out.integral && y == 0;
           v = out.integral && y != 0 ? std::trunc(x / y) : x / y;
         }
         if (op == "Pow") v = std::pow(x, y);
         if (op == "Min") v = std::min(x, y);
         if (op == "Max") v = std::max(x, y);
         if (op == "Equal") v = x == y;
         out.values[n] = v;
       });
  if (divides_by_zero) return malformed("an integer is divided by zero");
  return node.done(std::move(out));
}

Status fold_unary(const OnnxNode& node, double (*function)(double)) {
  DVNN_ASSIGN(const auto in, node.constant(0));
  OnnxConstant out = *in;
  for (double& v : out.values) v = function(v);
  return node.done(std::move(out));
}

Status fold_cast(const OnnxNode& node) {
  constexpr int kFloat = 1, kFloat16 = 10, kDouble = 11;
  DVNN_ASSIGN(const auto in, node.constant(0));
  OnnxConstant out = *in;
  const int64_t to = node.integer("to", kFloat);
  out.integral = to != kFloat && to != kFloat16 && to != kDouble;
  if (out.integral) {
    for (double& v : out.values) v = to == kOnnxBool ? double(v != 0) : std::trunc(v);
  }
  return node.done(std::move(out));
}

Status fold_concat(const OnnxNode& node) {
  OnnxConstant out;
  DVNN_ASSIGN(const auto first, node.constant(0));
  out.integral = first->integral;
  out.dims = first->dims;
  DVNN_ASSIGN(const size_t a, axis_at(node, 0, out.dims.size()));
  int64_t outer = 1, inner = 1;
  for (size_t i = 0; i < a; ++i) outer *= out.dims[i];
  for (size_t i = a + 1; i < out.dims.size(); ++i) inner *= out.dims[i];
  out.dims[a] = 0;
  std::vector<std::shared_ptr<const OnnxConstant>> parts;
  for (int i = 0; i < node.inputs(); ++i) {
    DVNN_ASSIGN(const auto part, node.constant(i));
    std::vector<int64_t> dims = part->dims;
    if (dims.size() != out.dims.size()) return malformed("joins constants of different ranks");
    out.dims[a] += dims[a];
    dims[a] = first->dims[a];
    if (dims != first->dims) return malformed("joins constants that do not fit");
    parts.push_back(part);
  }
  DVNN_ASSIGN(const size_t count, checked_count(out.dims));
  out.values.reserve(count);
  for (int64_t o = 0; o < outer; ++o) {
    for (const auto& part : parts) {
      const int64_t run = part->dims[a] * inner;
      const auto from = part->values.begin() + static_cast<ptrdiff_t>(o * run);
      out.values.insert(out.values.end(), from, from + static_cast<ptrdiff_t>(run));
    }
  }
  return node.done(std::move(out));
}

Status fold_gather(const OnnxNode& node) {
  DVNN_ASSIGN(const auto data, node.constant(0));
  DVNN_ASSIGN(const auto indices, node.constant(1));
  DVNN_ASSIGN(const size_t a, axis_at(node, 0, data->dims.size()));
  int64_t outer = 1, inner = 1;
  for (size_t i = 0; i < a; ++i) outer *= data->dims[i];
  for (size_t i = a + 1; i < data->dims.size(); ++i) inner *= data->dims[i];
  OnnxConstant out;
  out.integral = data->integral;
  out.dims.assign(data->dims.begin(), data->dims.begin() + static_cast<ptrdiff_t>(a));
  out.dims.insert(out.dims.end(), indices->dims.begin(), indices->dims.end());
  out.dims.insert(out.dims.end(), data->dims.begin() + static_cast<ptrdiff_t>(a) + 1,
                  data->dims.end());
  DVNN_ASSIGN(const size_t count, checked_count(out.dims));
  out.values.reserve(count);
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t index : indices->ints()) {
      if (index < 0) index += data->dims[a];
      if (index < 0 || index >= data->dims[a]) {
        return malformed(
            format("index %lld does not exist along axis %zu", static_cast<long long>(index), a));
      }
      const auto from =
          data->values.begin() + static_cast<ptrdiff_t>((o * data->dims[a] + index) * inner);
      out.values.insert(out.values.end(), from, from + static_cast<ptrdiff_t>(inner));
    }
  }
  return node.done(std::move(out));
}

Status fold_constant_of_shape(const OnnxNode& node) {
  DVNN_ASSIGN(const auto shape, node.constant(0));
  OnnxConstant out, fill;
  fill.values = {0};
  if (node.tensor("value")) {
    DVNN_ASSIGN(fill, node.importer().read(*node.tensor("value")));
    if (fill.values.empty()) return malformed("the value is empty");
  }
  out.integral = fill.integral;
  out.dims = shape->ints();
  expand_one_of(node.importer().batch, {}, &out.dims);
  DVNN_ASSIGN(const size_t count, checked_count(out.dims));
  out.values.assign(count, fill.values[0]);
  return node.done(std::move(out));
}

// Returns the indices of elements that are not 0: a row for each dimension.
Status fold_non_zero(const OnnxNode& node) {
  DVNN_ASSIGN(const auto in, node.constant(0));
  const std::vector<int64_t> dims = in->dims.empty() ? std::vector<int64_t>{1} : in->dims;
  std::vector<std::vector<double>> rows(dims.size());
  for (size_t i = 0; i < in->values.size(); ++i) {
    if (in->values[i] == 0) continue;
    auto rest = static_cast<int64_t>(i);
    for (size_t d = dims.size(); d-- > 0; rest /= dims[d]) {
      rows[d].push_back(static_cast<double>(rest % dims[d]));
    }
  }
  OnnxConstant out;
  out.integral = true;
  out.dims = {static_cast<int64_t>(rows.size()), static_cast<int64_t>(rows[0].size())};
  for (const auto& row : rows) out.values.insert(out.values.end(), row.begin(), row.end());
  return node.done(std::move(out));
}

Status fold_range(const OnnxNode& node) {
  DVNN_ASSIGN(const auto start, node.constant(0));
  DVNN_ASSIGN(const auto limit, node.constant(1));
  DVNN_ASSIGN(const auto delta, node.constant(2));
  if (start->values.size() != 1 || limit->values.size() != 1 || delta->values.size() != 1 ||
      delta->values[0] == 0) {
    return malformed("needs three numbers, the last not 0");
  }
  const double count =
      std::max(0.0, std::ceil((limit->values[0] - start->values[0]) / delta->values[0]));
  if (!(count <= static_cast<double>(kMostElements))) return too_large("the range is too long");
  OnnxConstant out;
  out.integral = start->integral && delta->integral;
  out.dims = {static_cast<int64_t>(count)};
  for (int64_t i = 0; i < out.dims[0]; ++i) {
    out.values.push_back(start->values[0] + static_cast<double>(i) * delta->values[0]);
  }
  return node.done(std::move(out));
}

Status fold_transpose(const OnnxNode& node) {
  DVNN_ASSIGN(const auto in, node.constant(0));
  const size_t rank = in->dims.size();
  std::vector<int64_t> order = node.integers("perm");
  if (order.empty()) {
    for (size_t i = rank; i-- > 0;) order.push_back(static_cast<int64_t>(i));
  }
  std::vector<int64_t> sorted = order;
  std::sort(sorted.begin(), sorted.end());
  for (size_t i = 0; i < sorted.size(); ++i) {
    if (sorted.size() != rank || sorted[i] != static_cast<int64_t>(i)) {
      return malformed("perm does not name each axis once");
    }
  }
  return node.done(transposed(*in, order));
}

Status fold_slice(const OnnxNode& node) {
  DVNN_ASSIGN(const auto in, node.constant(0));
  DVNN_ASSIGN(const OnnxSlice slice, read_onnx_slice(node, in->dims));
  std::vector<int64_t> own(in->dims.size(), 1), strides;
  for (size_t i = own.size(); i-- > 1;) own[i - 1] = own[i] * in->dims[i];
  int64_t base = 0;
  for (size_t i = 0; i < own.size(); ++i) {
    base += slice.begin[i] * own[i];
    strides.push_back(slice.step[i] * own[i]);
  }
  OnnxConstant out;
  out.integral = in->integral;
  out.dims = slice.dims;
  DVNN_ASSIGN(const size_t count, checked_count(out.dims));
  out.values.resize(count);
  walk(out.dims, {strides}, count, [&](size_t n, const std::vector<int64_t>& at) {
    out.values[n] = nth(in->values, base + at[0]);
  });
  return node.done(std::move(out));
}

Status fold_reshape(const OnnxNode& node) {
  DVNN_ASSIGN(const auto in, node.constant(0));
  OnnxConstant out = *in;
  if (node.type() == "Reshape") {
    DVNN_ASSIGN(out.dims, read_onnx_reshape(node, in->dims));
  } else {
    DVNN_ASSIGN(out.dims, read_onnx_squeeze(node, in->dims));
  }
  return node.done(std::move(out));
}

const std::map<std::string, Status (*)(const OnnxNode&)>& folds() {
  static const std::map<std::string, Status (*)(const OnnxNode&)> kFolds = {
      {"Add", fold_binary},        {"Cast", fold_cast},
      {"Concat", fold_concat},     {"ConstantOfShape", fold_constant_of_shape},
      {"Div", fold_binary},        {"Equal", fold_binary},
      {"Gather", fold_gather},     {"Max", fold_binary},
      {"Min", fold_binary},        {"Mul", fold_binary},
      {"NonZero", fold_non_zero},  {"Pow", fold_binary},
      {"Range", fold_range},       {"Reshape", fold_reshape},
      {"Slice", fold_slice},       {"Squeeze", fold_reshape},
      {"Sub", fold_binary},        {"Transpose", fold_transpose},
      {"Unsqueeze", fold_reshape},
  };
  return kFolds;
}

const std::map<std::string, double (*)(double)>& functions() {
  static const std::map<std::string, double (*)(double)> kFunctions = {
      {"Abs", std::fabs},  {"Ceil", std::ceil},
      {"Exp", std::exp},   {"Floor", std::floor},
      {"Log", std::log},   {"Neg", [](double v) { return -v; }},
      {"Sqrt", std::sqrt}, {"Identity", [](double v) { return v; }},
  };
  return kFunctions;
}

}  // namespace

OnnxConstant transposed(const OnnxConstant& in, const std::vector<int64_t>& order) {
  const size_t rank = in.dims.size();
  std::vector<int64_t> strides(rank, 1), own(rank, 1);
  for (size_t i = rank; i-- > 1;) own[i - 1] = own[i] * in.dims[i];
  OnnxConstant out;
  out.integral = in.integral;
  for (size_t i = 0; i < rank; ++i) {
    out.dims.push_back(nth(in.dims, order[i]));
    strides[i] = nth(own, order[i]);
  }
  out.values.resize(in.values.size());
  walk(out.dims, {strides}, in.values.size(),
       [&](size_t n, const std::vector<int64_t>& at) { out.values[n] = nth(in.values, at[0]); });
  return out;
}

bool folds_onnx(const std::string& type) {
  return folds().count(type) > 0 || functions().count(type) > 0;
}

Result<bool> fold_onnx(const OnnxNode& node) {
  if (node.inputs() == 0 || !node.all_constant()) return false;
  if (const auto it = folds().find(node.type()); it != folds().end()) {
    DVNN_TRY(it->second(node));
    return true;
  }
  if (const auto it = functions().find(node.type()); it != functions().end()) {
    DVNN_TRY(fold_unary(node, it->second));
    return true;
  }
  return false;
}

}  // namespace dvnn::import
