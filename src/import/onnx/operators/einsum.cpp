// SPDX-License-Identifier: Apache-2.0
// Einsum: sums, permutations, and one matrix product for each pair of operands.
#include <algorithm>
#include <map>

#include "base/format.h"
#include "import/onnx/operators.h"

namespace dvnn::import {
namespace {

struct Operand {
  int value;
  std::string labels;  // a letter for each axis, or a digit for one that "..." stands for
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
    const size_t arrow = text.find("->");
    std::string left = text.substr(0, arrow);
    for (int i = 0; i < node_.inputs(); ++i) {
      const size_t comma = left.find(',');
      DVNN_ASSIGN(const int value, node_.value(i));
      DVNN_TRY(add_operand(value, left.substr(0, comma)));
      left = comma == std::string::npos ? "" : left.substr(comma + 1);
    }
    if (operands_.empty() || !left.empty()) {
      return malformed("'" + text + "' does not name each input");
    }
    if (arrow != std::string::npos) {
      DVNN_ASSIGN(result_, without_dots(text.substr(arrow + 2), dots_));
    }
    // Without an arrow: the axes of dots, then labels that occur once, in alphabetical order.
    std::map<char, int> count;
    for (const Operand& operand : operands_) {
      for (char label : operand.labels) ++count[label];
    }
    for (const auto& [label, times] : count) {
      const bool dot = label < '0' + kMostDots;
      if (arrow == std::string::npos && (dot || times == 1)) result_ += label;
    }
    for (size_t i = 0; i < result_.size(); ++i) {
      if (count.count(result_[i]) > 0 && result_.find(result_[i], i + 1) == std::string::npos)
        continue;
      return malformed("'" + text + "': a wrong letter in the result");
    }
    for (Operand& operand : operands_) DVNN_TRY(drop_repeated(&operand));
    return {};
  }

  // Returns the labels with digits in place of "...", which stands for `count` axes. Digits count
  // from the last axis, as these axes repeat like NumPy's, and come before letters.
  static Result<std::string> without_dots(const std::string& labels, int count) {
    const size_t at = labels.find("...");
    if (at == std::string::npos) {
      if (!has(labels, '.')) return labels;
      return malformed("'" + labels + "': a single dot");
    }
    std::string digits;
    for (int i = kMostDots - count; i < kMostDots; ++i) digits += static_cast<char>('0' + i);
    return labels.substr(0, at) + digits + labels.substr(at + 3);
  }

  Status add_operand(int value, const std::string& given) {
    const Shape& shape = b_.shape_of(value);
    const bool dots = given.find("...") != std::string::npos;
    const int named = static_cast<int>(given.size()) - (dots ? 3 : 0);
    if (dots ? named > shape.rank : named != shape.rank) {
      return malformed("'" + given + "' does not name the axes of " + shape.to_string());
    }
    for (char c : given) {
      if (c == '.' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) continue;
      return malformed("'" + given + "' has more than letters");
    }
    if (dots) dots_ = std::max(dots_, shape.rank - named);
    DVNN_ASSIGN(const std::string labels, without_dots(given, shape.rank - named));
    DVNN_ASSIGN(const Operand operand, on_diagonals({value, labels}));
    return measure(operand);
  }

  Status measure(const Operand& operand) {
    const Shape& shape = b_.shape_of(operand.value);
    for (size_t i = 0; i < operand.labels.size(); ++i) {
      int64_t& size = sizes_.emplace(operand.labels[i], 1).first->second;
      const int64_t own = shape[static_cast<int>(i)];
      if (size != 1 && own != 1 && own != size) {
        return malformed(format("axes '%c' of %lld and %lld", operand.labels[i],
                                static_cast<long long>(size), static_cast<long long>(own)));
      }
      size = std::max(size, own);
    }
    operands_.push_back(operand);
    return {};
  }

  // Takes the diagonal of two axes with the same label: elements one row and one column apart.
  Result<Operand> on_diagonals(Operand operand) {
    for (size_t i = 0; i < operand.labels.size();) {
      const size_t other = operand.labels.find(operand.labels[i], i + 1);
      if (other == std::string::npos) {
        ++i;
        continue;
      }
      const std::vector<int64_t> dims = dims_of(b_.shape_of(operand.value));
      const int64_t size = dims[i];
      if (dims[other] != size) {
        return malformed("'" + operand.labels + "': no square for a diagonal");
      }
      std::vector<int64_t> order, rest;
      std::string labels;
      for (size_t k = 0; k < dims.size(); ++k) {
        if (k == i || k == other) continue;
        order.push_back(static_cast<int64_t>(k));
        rest.push_back(dims[k]);
        labels += operand.labels[k];
      }
      order.insert(order.end(), {static_cast<int64_t>(i), static_cast<int64_t>(other)});
      DVNN_ASSIGN(const int last, b_.permute(next_name(), operand.value, order));
      rest.push_back(size * size);
      DVNN_ASSIGN(const int flat, b_.reshape(next_name(), last, rest));
      rest.back() = size;
      std::vector<int64_t> begin(rest.size(), 0), step(rest.size(), 1);
      step.back() = size + 1;
      DVNN_ASSIGN(const int taken, b_.slice(next_name(), flat, begin, step, rest));
      operand = {taken, labels + operand.labels[i]};
      i = 0;
    }
    return operand;
  }

  // Drops axes of one element that are larger in other operands: it repeats without them, too.
  Status drop_repeated(Operand* operand) {
    const std::vector<int64_t> dims = dims_of(b_.shape_of(operand->value));
    std::vector<int64_t> left;
    std::string labels;
    for (size_t i = 0; i < operand->labels.size(); ++i) {
      if (dims[i] == 1 && sizes_[operand->labels[i]] > 1) continue;
      left.push_back(dims[i]);
      labels += operand->labels[i];
    }
    if (labels == operand->labels) return {};
    if (left.empty()) left = {1};
    DVNN_ASSIGN(operand->value, b_.reshape(next_name(), operand->value, left));
    operand->labels = labels;
    return {};
  }

  // Sums along the axes that are not in `wanted`.
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
    if (labels.empty()) return operand.value;  // it has no axes
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

  // Makes an operand a batch of matrices, (both, rows, columns), with axes in the order of the
  // labels.
  Result<int> as_matrices(const Operand& operand, const std::string& both, const std::string& rows,
                          const std::string& columns) {
    DVNN_ASSIGN(const int ordered, in_order(operand, both + rows + columns));
    return b_.reshape(
        next_name(), ordered,
        {count_of(operand, both), count_of(operand, rows), count_of(operand, columns)});
  }

  // Multiplies two operands, summing over their common axes that are not needed later.
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
      return unsupported(format("axis '%c' repeats", label));
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
  static constexpr int kMostDots = 6;  // number of axes that "..." may stand for
  int dots_ = 0;                       // number of axes that it stands for
  std::map<char, int64_t> sizes_;
  int names_ = 0;
};

}  // namespace

Status import_onnx_einsum(const OnnxNode& node) {
  return Einsum(node).run();
}

}  // namespace dvnn::import
