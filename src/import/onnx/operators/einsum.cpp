// SPDX-License-Identifier: Apache-2.0
// Einsum: sums and orders of axes, and one product of matrices for each pair of operands.
#include <algorithm>
#include <map>

#include "base/format.h"
#include "import/onnx/operators.h"

namespace dvnn::import {
namespace {

struct Operand {
  int value;
  std::string labels;  // one letter for each axis
};

bool has(const std::string& labels, char label) {
  return labels.find(label) != std::string::npos;
}

class Einsum {
 public:
  explicit Einsum(const OnnxNode& node) : node_(node), b_(node.builder()) {}

  Status run() {
    DVNN_TRY(read_equation());
    Operand all = operands_[0];
    for (size_t i = 1; i < operands_.size(); ++i) {
      std::string later = result_;
      for (size_t k = i + 1; k < operands_.size(); ++k) later += operands_[k].labels;
      DVNN_ASSIGN(all, product(all, operands_[i], later));
    }
    DVNN_ASSIGN(all, without(all, result_));
    if (result_.empty()) return node_.done(b_.reshape(node_.name(), all.value, {1}));
    DVNN_ASSIGN(const int ordered, in_order(all, result_));
    return node_.done(ordered);
  }

 private:
  std::string next_name() { return node_.name() + format("_%d", ++names_); }

  Status read_equation() {
    std::string text;
    for (char c : node_.text("equation", "")) {
      if (c != ' ') text += c;
    }
    if (has(text, '.')) {
      return Error{ErrorCode::kUnsupported, "'" + text + "': \"...\" is not supported"};
    }
    const size_t arrow = text.find("->");
    std::string left = text.substr(0, arrow);
    for (int i = 0; i < node_.inputs(); ++i) {
      const size_t comma = left.find(',');
      DVNN_ASSIGN(const int value, node_.value(i));
      DVNN_TRY(add_operand(value, left.substr(0, comma)));
      left = comma == std::string::npos ? "" : left.substr(comma + 1);
    }
    if (operands_.empty() || !left.empty()) {
      return Error{ErrorCode::kMalformed, "'" + text + "' does not name each input"};
    }
    if (arrow != std::string::npos) result_ = text.substr(arrow + 2);
    // Without an arrow: what occurs once, in alphabetical order.
    std::map<char, int> count;
    for (const Operand& operand : operands_) {
      for (char label : operand.labels) ++count[label];
    }
    for (const auto& [label, times] : count) {
      if (arrow == std::string::npos && times == 1) result_ += label;
    }
    for (size_t i = 0; i < result_.size(); ++i) {
      if (count.count(result_[i]) > 0 && result_.find(result_[i], i + 1) == std::string::npos)
        continue;
      return Error{ErrorCode::kMalformed, "'" + text + "': a wrong letter in the result"};
    }
    return {};
  }

  Status add_operand(int value, const std::string& labels) {
    const Shape& shape = b_.shape_of(value);
    if (static_cast<int>(labels.size()) != shape.rank) {
      return Error{ErrorCode::kMalformed,
                   "'" + labels + "' does not name the axes of " + shape.to_string()};
    }
    for (size_t i = 0; i < labels.size(); ++i) {
      if (labels.find(labels[i], i + 1) != std::string::npos) {
        return Error{ErrorCode::kUnsupported, "'" + labels + "': diagonals are not supported"};
      }
      int64_t& size = sizes_.emplace(labels[i], 1).first->second;
      const int64_t own = shape[static_cast<int>(i)];
      if (size != 1 && own != size) {
        return Error{ErrorCode::kMalformed,
                     format("axes '%c' of %lld and %lld", labels[i], static_cast<long long>(size),
                            static_cast<long long>(own))};
      }
      size = own;
    }
    operands_.push_back({value, labels});
    return {};
  }

  // Sums along the axes that nobody wants.
  Result<Operand> without(const Operand& operand, const std::string& wanted) {
    Operand left = {operand.value, ""};
    std::vector<int> axes;
    for (size_t i = 0; i < operand.labels.size(); ++i) {
      if (has(wanted, operand.labels[i])) {
        left.labels += operand.labels[i];
      } else {
        axes.push_back(static_cast<int>(i));
      }
    }
    if (axes.empty()) return left;
    DVNN_ASSIGN(left.value,
                b_.cpu(next_name(),
                       layers::ReduceAttributes{layers::Reduction::kSum, axes, left.labels.empty()},
                       {operand.value}));
    return left;
  }

  Result<int> in_order(const Operand& operand, const std::string& labels) {
    if (labels.empty()) return operand.value;  // a number
    std::vector<int64_t> order;
    for (char label : labels) order.push_back(static_cast<int64_t>(operand.labels.find(label)));
    return b_.permute(next_name(), operand.value, order);
  }

  int64_t count_of(const Operand& operand, const std::string& labels) const {
    int64_t count = 1;
    for (char label : labels) {
      count *= b_.shape_of(operand.value)[static_cast<int>(operand.labels.find(label))];
    }
    return count;
  }

  // Makes matrices of an operand: (both, rows, columns), the axes in the order of these labels.
  Result<int> as_matrices(const Operand& operand, const std::string& both, const std::string& rows,
                          const std::string& columns) {
    DVNN_ASSIGN(const int ordered, in_order(operand, both + rows + columns));
    return b_.reshape(
        next_name(), ordered,
        {count_of(operand, both), count_of(operand, rows), count_of(operand, columns)});
  }

  // A product of matrices over what both have and nobody wants later.
  Result<Operand> product(const Operand& first, const Operand& second, const std::string& later) {
    DVNN_ASSIGN(const Operand a, without(first, later + second.labels));
    DVNN_ASSIGN(const Operand b, without(second, later + first.labels));
    std::string both, summed, of_a, of_b;
    for (char label : a.labels) {
      (!has(b.labels, label) ? of_a : has(later, label) ? both : summed) += label;
    }
    for (char label : b.labels) {
      if (!has(a.labels, label)) of_b += label;
    }
    for (char label : both + summed) {
      const std::string one(1, label);
      if (count_of(a, one) == count_of(b, one)) continue;
      return Error{ErrorCode::kUnsupported, format("axis '%c' repeats", label)};
    }
    DVNN_ASSIGN(const int left, as_matrices(a, both, of_a, summed));
    DVNN_ASSIGN(const int right, as_matrices(b, both, summed, of_b));
    DVNN_ASSIGN(const int made, b_.cpu(next_name(), layers::MatMulAttributes(), {left, right}));
    std::vector<int64_t> dims;
    for (char label : both + of_a) dims.push_back(count_of(a, std::string(1, label)));
    for (char label : of_b) dims.push_back(count_of(b, std::string(1, label)));
    if (dims.empty()) dims = {1};
    DVNN_ASSIGN(const int apart, b_.reshape(next_name(), made, dims));
    return Operand{apart, both + of_a + of_b};
  }

  const OnnxNode& node_;
  GraphBuilder& b_;
  std::vector<Operand> operands_;
  std::string result_;
  std::map<char, int64_t> sizes_;
  int names_ = 0;
};

}  // namespace

Status import_onnx_einsum(const OnnxNode& node) {
  return Einsum(node).run();
}

}  // namespace dvnn::import
