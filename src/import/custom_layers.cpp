// SPDX-License-Identifier: Apache-2.0
#include "import/custom_layers.h"

#include <cctype>
#include <cstdlib>

#include "base/format.h"
#include "base/json.h"

namespace dvnn::import {
namespace {

// Evaluates an expression by descent through sums, products and single values. The first error ends
// it.
class Expression {
 public:
  Expression(const std::string& text, const std::map<std::string, int64_t>& numbers,
             const std::map<std::string, int64_t>& counts)
      : text_(text), numbers_(numbers), counts_(counts) {}

  Result<int64_t> value() {
    const int64_t result = sum(0);
    if (status_.ok() && peek() != '\0') fail("does not end");
    if (!status_.ok()) return status_.error().within("'" + short_text(text_, kMaxShown) + "'");
    return result;
  }

 private:
  static constexpr int kMaxDepth = 64;
  static constexpr size_t kMaxShown = 256;  // bytes

  void fail(const std::string& why, ErrorCode code = ErrorCode::kMalformed) {
    if (status_.ok()) status_ = Error{code, why};
  }

  char peek() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }

  bool take(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }

  int64_t bounded(int64_t value) {
    constexpr int64_t kMost = int64_t{1} << 31;
    if (value > -kMost && value < kMost) return value;
    fail("exceeds 2^31", ErrorCode::kLimit);
    return 0;
  }

  int64_t sum(int depth) {
    if (depth > kMaxDepth) fail("is nested too deeply", ErrorCode::kLimit);
    int64_t value = product(depth);
    while (status_.ok()) {
      if (take('+')) {
        value = bounded(value + product(depth));
      } else if (take('-')) {
        value = bounded(value - product(depth));
      } else {
        break;
      }
    }
    return value;
  }

  int64_t product(int depth) {
    int64_t value = single(depth);
    while (status_.ok()) {
      if (take('*')) {
        value = bounded(value * single(depth));
      } else if (take('/')) {
        const int64_t by = single(depth);
        if (by == 0) fail("divides by zero");
        value = by == 0 ? 0 : value / by;
      } else {
        break;
      }
    }
    return value;
  }

  std::string word() {
    std::string out;
    while (at_ < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_')) {
      out += text_[at_++];
    }
    return out;
  }

  int64_t single(int depth) {
    if (!status_.ok()) return 0;
    if (take('(')) {
      const int64_t value = sum(depth + 1);
      if (!take(')')) fail("lacks a )");
      return value;
    }
    const bool digit = std::isdigit(static_cast<unsigned char>(peek())) != 0;
    const std::string name = word();
    if (name.empty()) {
      fail("lacks a value");
      return 0;
    }
    if (digit) return number(name);
    if (!take('(')) return look_up(name, numbers_);
    peek();
    const std::string list = word();
    if (name != "count" || !take(')')) fail("knows no function but count(NAME)");
    return look_up(list, counts_);
  }

  int64_t number(const std::string& digits) {
    char* end = nullptr;
    const int64_t value = std::strtoll(digits.c_str(), &end, 10);  // clamps too large numbers
    if (*end != '\0') fail("'" + digits + "' is no number");
    return bounded(value);
  }

  int64_t look_up(const std::string& name, const std::map<std::string, int64_t>& names) {
    const auto it = names.find(name);
    if (it != names.end()) return bounded(it->second);
    fail("does not know '" + name + "'");
    return 0;
  }

  const std::string& text_;
  const std::map<std::string, int64_t>& numbers_;
  const std::map<std::string, int64_t>& counts_;
  size_t at_ = 0;
  Status status_;
};

bool fits(const Json& value, const std::string& type) {
  if (type == "bool") return value.is_boolean();
  if (type == "int") return value.is_number_integer();
  return value.is_number();
}

Json of_type(const Json& value, const std::string& type) {
  return type == "float" ? Json(value.get<double>()) : value;
}

// Checks that messages can show a name or an expression.
Status check_printable(const std::string& what, const std::string& text) {
  constexpr size_t kMaxShown = 64;
  if (is_printable(text)) return {};
  return malformed(what + " '" + short_text(text, kMaxShown) +
                   "' has characters that cannot be printed");
}

Result<CustomLayer::Param> parse_param(const std::string& name, const Json& type) {
  constexpr int kMostElements = 65536;
  CustomLayer::Param param;
  param.name = name;
  if (type.is_string()) {
    const std::string text = type.get<std::string>();
    const size_t bracket = text.find('[');
    param.type = text.substr(0, bracket);
    int end = 0;
    const bool array = bracket != std::string::npos;
    const bool counted = array &&
                         std::sscanf(text.c_str() + bracket, "[%d]%n", &param.count, &end) == 1 &&
                         bracket + static_cast<size_t>(end) == text.size() && param.count >= 1 &&
                         param.count <= kMostElements;
    const bool known = param.type == "int" || param.type == "float" || param.type == "bool";
    if (known && counted == array) return param;
  }
  return malformed("parameter '" + name + "': type " + shown(type) +
                   " is not int, float, bool or one of them with [COUNT]");
}

}  // namespace

Result<int64_t> evaluate(const std::string& expression,
                         const std::map<std::string, int64_t>& numbers,
                         const std::map<std::string, int64_t>& counts) {
  return Expression(expression, numbers, counts).value();
}

Result<Json> CustomLayer::take_params(const Json& given) const {
  Json taken = Json::object();
  for (const Param& param : params) {
    const auto it = given.is_object() ? given.find(param.name) : given.end();
    if (!given.is_object() || it == given.end()) {
      return malformed("parameter '" + param.name + "' is missing");
    }
    Json value = *it;
    bool good = false;
    if (param.count == 0) {
      good = fits(value, param.type);
      if (good) value = of_type(value, param.type);
    } else if (value.is_array() && value.size() == static_cast<size_t>(param.count)) {
      good = true;
      for (Json& item : value) {
        good &= fits(item, param.type);
        if (good) item = of_type(item, param.type);
      }
    }
    if (!good) {
      const std::string count = param.count ? format("[%d]", param.count) : "";
      return malformed("parameter '" + param.name + "' is " + shown(*it) + ", declared as " +
                       param.type + count);
    }
    taken[param.name] = std::move(value);
  }
  return taken;
}

Result<std::vector<int64_t>> CustomLayer::output_dims(const Shape& input,
                                                      const Json& values) const {
  std::map<std::string, int64_t> numbers, counts;
  static constexpr const char* kAxes[] = {"n", "c", "h", "w"};
  for (int i = 0; i < input.rank; ++i) {
    numbers[format("d%d", i)] = input[i];
    if (input.rank <= 4) numbers[kAxes[i]] = input[i];
  }
  for (const Param& param : params) {
    if (param.count > 0) counts[param.name] = param.count;
    if (param.count == 0 && param.type == "int")
      numbers[param.name] = values.at(param.name).get<int64_t>();
  }
  std::vector<int64_t> dims;
  for (const std::string& expression : output) {
    DVNN_ASSIGN(const int64_t value, evaluate(expression, numbers, counts));
    dims.push_back(value);
  }
  return dims;
}

// Refuses unknown members, which would be parameters or shapes that are silently ignored.
static void check_members(const Json& declared, JsonReader* in) {
  if (!declared.is_object()) return;
  const bool affine = declared.contains("affine");
  for (const auto& member : declared.items()) {
    const std::string& name = member.key();
    if (affine ? name == "affine" : name == "params" || name == "output") continue;
    in->fail(printable(name), affine ? "beside 'affine', a type has nothing"
                                     : "there is none, but params and output, or affine");
  }
}

Result<CustomLayers> parse_custom_layers(const std::string& text) {
  DVNN_ASSIGN(const Json object, parse_written_json(text, "the text"));
  if (!object.is_object()) return malformed("is no JSON object of layer types");
  CustomLayers layers;
  for (const auto& [type, declared] : object.items()) {
    DVNN_TRY(check_printable("layer type", type));
    CustomLayer layer;
    JsonReader in(declared, "layer type '" + type + "'");
    check_members(declared, &in);
    if (const Json* affine = in.member("affine")) {
      if (affine->size() != 2 || !affine->is_array() || !affine->at(0).is_number() ||
          !affine->at(1).is_number()) {
        in.fail("affine", "must be two numbers, a and b of x * a + b");
      }
      DVNN_TRY(in.status());
      layer.affine = {affine->at(0).get<float>(), affine->at(1).get<float>()};
      layers[type] = std::move(layer);
      continue;
    }
    const Json* params = in.member("params");
    const Json* output = in.member("output");
    if (params && !params->is_object()) in.fail("params", "must be an object");
    if (!output || !output->is_array() || output->empty() || output->size() > Shape::kMaxRank) {
      in.fail("output", format("must be 1 to %d expressions", Shape::kMaxRank));
    }
    DVNN_TRY(in.status());
    if (params) {
      for (const auto& [name, param_type] : params->items()) {
        DVNN_TRY(check_printable("parameter", name));
        auto param = parse_param(name, param_type);
        if (!param.ok()) return param.error().within("layer type '" + type + "'");
        layer.params.push_back(param.value());
      }
    }
    for (const Json& expression : *output) {
      layer.output.push_back(expression.is_string() ? expression.get<std::string>()
                                                    : shown(expression));
      DVNN_TRY(check_printable("expression", layer.output.back()));
    }
    layers[type] = std::move(layer);
  }
  return layers;
}

}  // namespace dvnn::import
