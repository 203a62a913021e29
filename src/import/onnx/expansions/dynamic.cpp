// SPDX-License-Identifier: Apache-2.0
#include "import/onnx/expansions/expansions.h"

#include <algorithm>
#include <iterator>
#include <map>

#include "import/onnx/whole_graph.h"

namespace dvnn::import {
namespace {

using Readers = std::vector<const onnx::NodeProto*>;

// Tables by name: its readers, one entry for each read, and its maker.
class Uses {
 public:
  Uses(const onnx::GraphProto& graph, const std::vector<std::string>& wanted)
      : wanted_(wanted.begin(), wanted.end()) {
    for (const onnx::NodeProto& node : graph.node()) {
      for (const std::string& name : onnx_names_read(node)) readers_[name].push_back(&node);
      for (const std::string& name : node.output()) makers_[name] = &node;
    }
  }

  const Readers& readers(const std::string& name) const {
    static const Readers kNone;
    const auto it = readers_.find(name);
    return it == readers_.end() ? kNone : it->second;
  }
  bool is_wanted(const std::string& name) const { return wanted_.count(name) > 0; }
  // Returns the only node that reads the name, if it is of that type; else null.
  const onnx::NodeProto* only_reader(const std::string& name, const char* type) const {
    const Readers& all = readers(name);
    if (all.size() != 1 || is_wanted(name)) return nullptr;
    return all[0]->op_type() == type && all[0]->output_size() == 1 ? all[0] : nullptr;
  }
  const onnx::NodeProto* maker(const std::string& name) const {
    const auto it = makers_.find(name);
    return it == makers_.end() ? nullptr : it->second;
  }

 private:
  std::map<std::string, Readers> readers_;
  std::map<std::string, const onnx::NodeProto*> makers_;
  std::set<std::string> wanted_;
};

bool reads(const onnx::NodeProto& node, const std::string& name) {
  return std::find(node.input().begin(), node.input().end(), name) != node.input().end();
}

// Returns the other operand of a node of two operands; empty if neither is `name`.
std::string other_operand(const onnx::NodeProto& node, const std::string& name) {
  if (node.input_size() != 2 || node.input(0) == node.input(1) || !reads(node, name)) return "";
  return node.input(node.input(0) == name ? 1 : 0);
}

// A product of whole numbers, with the scalings of its operands (null: known numbers), and the node
// that multiplies their scales.
struct Product {
  const onnx::NodeProto* operands[2] = {};
  const onnx::NodeProto* factor = nullptr;
};

class Search {
 public:
  Search(const onnx::GraphProto& proto, const std::vector<std::string>& wanted)
      : uses_(proto, wanted) {
    for (const onnx::NodeProto& node : proto.node()) {
      const bool scales = node.op_type() == "DynamicQuantizeLinear" && node.output_size() == 3 &&
                          std::none_of(node.output().begin(), node.output().end(),
                                       [&](const auto& name) { return uses_.is_wanted(name); });
      if (scales) scalings_.insert(&node);
    }
    for (const onnx::NodeProto& node : proto.node()) {
      Product product;
      if (is_product(node, &product)) products_[&node] = product;
    }
  }

  PlainScalings find() {
    // Removing one scaling may disqualify the other operand's scaling, too.
    for (bool changed = true; changed;) {
      changed = false;
      for (auto it = scalings_.begin(); it != scalings_.end();) {
        const bool plain = is_plain(**it);
        changed |= !plain;
        it = plain ? std::next(it) : scalings_.erase(it);
      }
    }
    PlainScalings found;
    for (const onnx::NodeProto* scaling : scalings_) found.scalings.insert(scaling->output(0));
    for (const auto& [node, product] : products_) {
      const bool plain =
          std::any_of(std::begin(product.operands), std::end(product.operands),
                      [&](const onnx::NodeProto* operand) { return scalings_.count(operand) > 0; });
      if (plain) found.products.insert(node->output(0));
    }
    return found;
  }

 private:
  bool is_known(const std::string& name) const {
    const onnx::NodeProto* maker = uses_.maker(name);
    return !maker || maker->op_type() == "Constant";
  }

  // Returns whether the node is a product that is only used as Cast(node) * (scale * scale).
  bool is_product(const onnx::NodeProto& node, Product* product) const {
    if (node.op_type() != "ConvInteger" && node.op_type() != "MatMulInteger") return false;
    if (node.input_size() < 3 || node.output_size() != 1) return false;
    for (int i = 0; i < 2; ++i) {
      const onnx::NodeProto* maker = uses_.maker(node.input(i));
      const bool scaled = scalings_.count(maker) > 0 && maker->output(0) == node.input(i);
      if (!scaled && !is_known(node.input(i))) return false;
      const std::string zero = i + 2 < node.input_size() ? node.input(i + 2) : "";
      if (scaled && zero != maker->output(2)) return false;
      product->operands[i] = scaled ? maker : nullptr;
    }
    const onnx::NodeProto* cast = uses_.only_reader(node.output(0), "Cast");
    const onnx::NodeProto* times = cast ? uses_.only_reader(cast->output(0), "Mul") : nullptr;
    if (!times) return false;
    const std::string factor = other_operand(*times, cast->output(0));
    product->factor = uses_.maker(factor);
    return product->factor && product->factor->op_type() == "Mul" &&
           product->factor->input_size() == 2 && uses_.only_reader(factor, "Mul") &&
           (has_scales(*product, 0, 1) || has_scales(*product, 1, 0));
  }

  // Returns whether the factor's operands are the scales of the product's operands, in this order.
  bool has_scales(const Product& product, int first, int second) const {
    const auto fits = [&](int operand, int input) {
      const onnx::NodeProto* scaling = product.operands[operand];
      const std::string& name = product.factor->input(input);
      return scaling ? scaling->output(1) == name : is_known(name);
    };
    return fits(first, 0) && fits(second, 1);
  }

  // Returns whether all results of the scaling are only read by products of plain scalings.
  bool is_plain(const onnx::NodeProto& scaling) const {
    const auto& readers = uses_.readers(scaling.output(0));
    if (readers.empty()) return false;
    std::set<const onnx::NodeProto*> own, factors;
    for (const onnx::NodeProto* node : readers) {
      const auto product = products_.find(node);
      if (product == products_.end()) return false;
      for (const onnx::NodeProto* operand : product->second.operands) {
        if (operand && scalings_.count(operand) == 0) return false;
      }
      own.insert(node);
      factors.insert(product->second.factor);
    }
    const auto all_in = [](const Readers& list, const std::set<const onnx::NodeProto*>& set) {
      return std::all_of(list.begin(), list.end(),
                         [&](const onnx::NodeProto* node) { return set.count(node) > 0; });
    };
    return all_in(uses_.readers(scaling.output(1)), factors) &&
           all_in(uses_.readers(scaling.output(2)), own);
  }

  Uses uses_;
  std::set<const onnx::NodeProto*> scalings_;
  std::map<const onnx::NodeProto*, Product> products_;
};

}  // namespace

PlainScalings plain_scalings(const onnx::GraphProto& proto,
                             const std::vector<std::string>& wanted) {
  return Search(proto, wanted).find();
}

}  // namespace dvnn::import
