#include "core/service/plans/plan_file.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "core/base/plain_error.h"
#include "core/base/printable.h"

namespace normlens::service {

using graph::Graph;
using graph::OpKind;
using nlohmann::json;

namespace {

// An open factor may be of any size: a batch, a sequence.
bool isOpen(const ops::Factor& factor) { return !factor.summed && factor.whole(); }

// The elements before and behind the only run of axes that holds `inner`; nullopt: none does, or several do.
std::optional<std::pair<int64_t, int64_t>> around(const graph::Shape& shape, int64_t inner, int64_t elements) {
  std::optional<std::pair<int64_t, int64_t>> found;
  int64_t before = 1;
  for (size_t first = 0; first < shape.size(); before *= shape[first++]) {
    int64_t held = 1;
    for (size_t past = first; past < shape.size() && held < inner;) held *= shape[past++];
    if (held != inner) continue;
    const std::pair here{before, elements / before / inner};
    if (found && *found != here) return std::nullopt;
    found = here;
  }
  return found;
}

constexpr int kSchema = 1;
constexpr const char* kNewPlan = "make a new one with --save-plan";

json useToJson(const graph::Use& use) { return {use.node, use.operand, use.block}; }

template <class Uses>
json usesToJson(const Uses& uses) {
  json out = json::array();
  for (const auto& use : uses) out.push_back(useToJson(use));
  return out;
}

struct ToJson {
  const Graph& graph;
  const std::vector<analysis::LayerNorm>& norms;

  json operator()(const fold::AbsorbScale& edit) const {
    json parts = json::array();
    for (const auto& part : edit.parts) {
      parts.push_back({{"tensor", graph.constant(part.constant).name},
                       {"factor", part.factor},
                       {"addend", part.addend},
                       {"dim", part.dim}});
    }
    return {
        {"node", edit.scaleNode}, {"data_operand", edit.dataOperand}, {"node_stays", edit.nodeStays}, {"parts", parts}};
  }
  json operator()(const fold::CenterConstant& edit) const {
    json parts = json::array();
    for (const auto& part : edit.parts) {
      parts.push_back({{"tensor", graph.constant(part.constant).name}, {"pattern", part.pattern.text()}});
    }
    return {{"parts", parts}, {"uses", usesToJson(edit.uses)}, {"split", edit.split}};
  }
  json operator()(const fold::InsertCentering& edit) const {
    return {{"value", graph.value(edit.value).name}, {"pattern", edit.pattern.text()}, {"uses", usesToJson(edit.uses)}};
  }
  json operator()(const fold::DropAddend& edit) const {
    return {{"value", graph.value(edit.value).name}, {"uses", usesToJson(edit.uses)}};
  }
  json operator()(const fold::AbsorbShift& edit) const {
    json parts = json::array();
    for (const auto& part : edit.parts) {
      parts.push_back({{"weight", graph.constant(part.weight).name},
                       {"use", useToJson(part.weightUse)},
                       {"input_dim", part.inputDim},
                       {"bias", graph.constant(part.bias).name}});
    }
    return {{"norm", norms[static_cast<size_t>(edit.norm)].name},
            {"node", edit.shiftNode},
            {"shift_operand", edit.shiftOperand},
            {"parts", parts}};
  }
  json operator()(const fold::AbsorbGain& edit) const {
    json parts = json::array();
    for (const auto& part : edit.parts)
      parts.push_back({{"weight", graph.constant(part.weight).name}, {"input_dim", part.inputDim}});
    return {{"node", edit.gainNode}, {"gain_operand", edit.gainOperand}, {"parts", parts}};
  }
  json operator()(const fold::RestoreMean& edit) const {
    json linears = json::array(), earlier = json::array();
    for (const auto& linear : edit.linears) {
      linears.push_back(
          {{"node", linear.node},
           {"input", linear.input},
           {"weight", graph.constant(linear.weight).name},
           {"input_dim", linear.inputDim},
           {"viewed", linear.viewed == graph::kNoValue ? json() : json(graph.value(linear.viewed).name)}});
    }
    for (const graph::ValueId value : edit.earlier) earlier.push_back(graph.value(value).name);
    return {{"value", graph.value(edit.value).name},   {"uses", usesToJson(edit.uses)},     {"linears", linears},
            {"constants", usesToJson(edit.constants)}, {"values", usesToJson(edit.values)}, {"earlier", earlier}};
  }
  json operator()(const fold::ReplaceNorm& edit) const {
    return {{"norm", norms[static_cast<size_t>(edit.norm)].name}};
  }
};

// The plan fits the model, but not at the sizes that it was run at.
struct OtherSizes : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// nlohmann's own makes an int of any number, in its range or not.
int whole(const json& in) {
  const bool above = in.is_number_unsigned() && !std::in_range<int>(in.get<uint64_t>());
  if (!in.is_number_integer() || above || !std::in_range<int>(in.get<int64_t>()))
    throw std::runtime_error("a number that is no index");
  return in.get<int>();
}

// Everything below throws std::runtime_error (or nlohmann's own) on a bad file; planFromJson catches.
class FromJson {
 public:
  FromJson(const Graph& graph, const std::vector<analysis::LayerNorm>& norms) : graph_(graph), norms_(norms) {}

  [[nodiscard]] fold::Edit edit(const json& item) const {
    const auto name = item.at("kind").get<std::string>();
    const auto kind = fromName<EditKind>(name);
    if (!kind) throw std::runtime_error("unknown edit '" + name + "'");
    switch (*kind) {
      case EditKind::AbsorbScale:
        return absorbScale(item);
      case EditKind::CenterConstant:
        return center(item);
      case EditKind::InsertCentering:
        return insert(item);
      case EditKind::DropAddend:
        return fold::DropAddend{valueNamed(item.at("value").get<std::string>()), uses(item.at("uses"))};
      case EditKind::AbsorbShift:
        return absorbShift(item);
      case EditKind::AbsorbGain:
        return absorbGain(item);
      case EditKind::RestoreMean:
        return restoreMean(item);
      case EditKind::ReplaceNorm:
        break;
    }
    return fold::ReplaceNorm{normNamed(item.at("norm").get<std::string>())};
  }

 private:
  [[nodiscard]] fold::Edit absorbScale(const json& item) const {
    fold::AbsorbScale out;
    out.scaleNode = inRange(whole(item.at("node")), graph_.nodes.size());
    const graph::Node& node = graph_.node(out.scaleNode);
    out.dataOperand = presentOperand(node, whole(item.at("data_operand")));
    const bool scales = node.kind == OpKind::Mul || node.kind == OpKind::Div || node.kind == OpKind::BatchNorm;
    if (!scales) throw std::runtime_error("a scale that is none");
    out.nodeStays = item.at("node_stays").get<bool>();
    for (const json& part : item.at("parts")) {
      out.parts.push_back({constantNamed(part.at("tensor").get<std::string>()),
                           part.at("factor").get<std::vector<double>>(), part.at("addend").get<std::vector<double>>(),
                           whole(part.at("dim"))});
    }
    return out;
  }
  [[nodiscard]] fold::Edit center(const json& item) const {
    fold::CenterConstant out;
    for (const json& part : item.at("parts")) {
      const auto constant = constantNamed(part.at("tensor").get<std::string>());
      auto pattern = parsed(part);
      const auto elements = graph::elementCount(graph_.constant(constant).view.shape);
      if (elements && elementsOf(pattern) != *elements)
        throw std::runtime_error("pattern '" + pattern.text() + "' does not fit its tensor");
      out.parts.push_back({constant, std::move(pattern)});
    }
    if (out.parts.empty()) throw std::runtime_error("an edit without tensors");
    out.uses = uses(item.at("uses"));
    out.split = item.at("split").get<bool>();
    return out;
  }
  [[nodiscard]] fold::Edit insert(const json& item) const {
    const graph::ValueId value = valueNamed(item.at("value").get<std::string>());
    const auto& shape = graph_.value(value).shape;
    const ops::Pattern made = parsed(item);
    auto now = shape ? refitted(made, *shape) : made;
    if (!now) throw OtherSizes("the pattern '" + made.text() + "' does not fit '" + graph_.value(value).name + "'");
    return fold::InsertCentering{value, std::move(*now), uses(item.at("uses"))};
  }

  [[nodiscard]] fold::Edit absorbShift(const json& item) const {
    fold::AbsorbShift out;
    out.norm = normNamed(item.at("norm").get<std::string>());
    out.shiftNode = inRange(whole(item.at("node")), graph_.nodes.size());
    const graph::Node& node = graph_.node(out.shiftNode);
    out.shiftOperand = presentOperand(node, whole(item.at("shift_operand")));
    // Every node but a norm keeps its other operand.
    if (node.kind != OpKind::LayerNorm) {
      if (node.operands.size() != 2) throw std::runtime_error("a shift that is none");
      presentOperand(node, 1 - out.shiftOperand);
    }
    for (const json& part : item.at("parts")) {
      out.parts.push_back({constantNamed(part.at("weight").get<std::string>()), use(part.at("use")),
                           whole(part.at("input_dim")), constantNamed(part.at("bias").get<std::string>())});
    }
    return out;
  }

  [[nodiscard]] fold::Edit absorbGain(const json& item) const {
    fold::AbsorbGain out;
    out.gainNode = inRange(whole(item.at("node")), graph_.nodes.size());
    const graph::Node& node = graph_.node(out.gainNode);
    out.gainOperand = presentOperand(node, whole(item.at("gain_operand")));
    const bool norm = node.kind == OpKind::LayerNorm || node.kind == OpKind::RmsNorm;
    const bool product = node.kind == OpKind::Mul && node.operands.size() == 2;
    if (!product && !(norm && out.gainOperand == 1)) throw std::runtime_error("a gain that is none");
    if (product) presentOperand(node, 1 - out.gainOperand);
    for (const json& part : item.at("parts"))
      out.parts.push_back({constantNamed(part.at("weight").get<std::string>()), whole(part.at("input_dim"))});
    if (out.parts.empty()) throw std::runtime_error("an edit without tensors");
    return out;
  }

  [[nodiscard]] fold::Edit restoreMean(const json& item) const {
    fold::RestoreMean out;
    out.value = valueNamed(item.at("value").get<std::string>());
    if (graph_.value(out.value).producer == graph::kNone) throw std::runtime_error("a stream that no node makes");
    out.uses = uses(item.at("uses"));
    for (const graph::Use& use : out.uses) {
      const bool reads = use.node == graph::kNone
                             ? graph_.block(use.block).returns[static_cast<size_t>(use.operand)] == out.value
                             : graph_.node(use.node).operands[static_cast<size_t>(use.operand)] == out.value;
      if (!reads) throw std::runtime_error("a read that is of another value");
    }
    for (const json& linear : item.at("linears")) {
      const auto node = inRange(whole(linear.at("node")), graph_.nodes.size());
      out.linears.push_back({node, presentOperand(graph_.node(node), whole(linear.at("input"))),
                             constantNamed(linear.at("weight").get<std::string>()), whole(linear.at("input_dim"))});
      const json& viewed = linear.at("viewed");
      if (viewed.is_null()) continue;
      out.linears.back().viewed = valueNamed(viewed.get<std::string>());
      const graph::NodeId view = graph_.value(out.linears.back().viewed).producer;
      if (view == graph::kNone || graph_.node(view).kind != OpKind::Reshape) throw std::runtime_error("no view");
    }
    for (const char* kind : {"constants", "values"}) {
      for (const graph::Use& use : uses(item.at(kind))) {
        const bool present = use.node != graph::kNone &&
                             graph_.node(use.node).operands[static_cast<size_t>(use.operand)] != graph::kNoValue;
        if (!present) throw std::runtime_error("an operand that is absent");
        const auto& value = graph_.value(graph_.node(use.node).operands[static_cast<size_t>(use.operand)]);
        const bool isConstant = value.constant != graph::kNone;
        if (isConstant != (kind == std::string_view("constants")) || !value.shape || value.shape->empty())
          throw std::runtime_error("a mean of something else");
        (isConstant ? out.constants : out.values).push_back(use);
      }
    }
    for (const json& earlier : item.at("earlier")) out.earlier.push_back(valueNamed(earlier.get<std::string>()));
    return out;
  }

  static ops::Pattern parsed(const json& item) {
    const auto text = item.at("pattern").get<std::string>();
    auto pattern = ops::Pattern::parse(text);
    if (!pattern) throw std::runtime_error("bad pattern '" + text + "'");
    return std::move(*pattern);
  }
  [[nodiscard]] graph::Use use(const json& item) const {
    const graph::Use use{whole(item.at(0)), whole(item.at(1)), whole(item.at(2))};
    const bool isReturned = use.node == graph::kNone;
    if (isReturned) inRange(use.block, graph_.blocks.size());
    if (!isReturned) inRange(use.node, graph_.nodes.size());
    inRange(use.operand, isReturned ? graph_.block(use.block).returns.size() : graph_.node(use.node).operands.size());
    return use;
  }
  [[nodiscard]] graph::Uses uses(const json& items) const {
    graph::Uses out;
    for (const json& item : items) out.push_back(use(item));
    return out;
  }
  static int inRange(int id, size_t size) {
    if (id < 0 || static_cast<size_t>(id) >= size) throw std::runtime_error("an id out of range");
    return id;
  }
  // Returns the operand, which the node must have and read something with.
  static int presentOperand(const graph::Node& node, int operand) {
    inRange(operand, node.operands.size());
    if (node.operands[static_cast<size_t>(operand)] == graph::kNoValue || node.outputs.empty())
      throw std::runtime_error("an operand that is absent");
    return operand;
  }
  // Finds an item by its name as JSON has it: a file's bytes need not be UTF-8.
  template <class T>
  static auto named(const std::vector<T>& items, const std::string& name) {
    const auto exact = std::ranges::find(items, name, &T::name);
    if (exact != items.end()) return exact;
    return std::ranges::find_if(items, [&](const T& item) {
      return json::parse(json(item.name).dump(-1, ' ', false, json::error_handler_t::replace)) == name;
    });
  }
  [[nodiscard]] graph::ConstantId constantNamed(const std::string& name) const {
    const auto found = named(graph_.constants, name);
    if (found == graph_.constants.end()) throw std::runtime_error("no tensor '" + name + "'");
    return static_cast<graph::ConstantId>(found - graph_.constants.begin());
  }
  [[nodiscard]] graph::ValueId valueNamed(const std::string& name) const {
    const auto found = named(graph_.values, name);
    if (found == graph_.values.end()) throw std::runtime_error("no value '" + name + "'");
    return static_cast<graph::ValueId>(found - graph_.values.begin());
  }
  [[nodiscard]] int normNamed(const std::string& name) const {
    const auto found = named(norms_, name);
    if (found == norms_.end()) throw std::runtime_error("no LayerNorm '" + name + "'");
    return found->index;
  }

  const Graph& graph_;
  const std::vector<analysis::LayerNorm>& norms_;
};

}  // namespace

int64_t elementsOf(const ops::Pattern& pattern) {
  int64_t size = 1;
  for (const auto& factor : pattern.factors) {
    if (factor.size > 0 && size > std::numeric_limits<int64_t>::max() / factor.size) return -1;
    size *= factor.size;
  }
  return size;
}

std::optional<ops::Pattern> refitted(const ops::Pattern& pattern, const graph::Shape& shape) {
  const int64_t elements = graph::elementCount(shape).value_or(0);
  if (elementsOf(pattern) == elements && ops::alignTo(pattern, shape)) return pattern;
  ops::Pattern fixed;
  for (const auto& factor : pattern.factors) {
    if (!isOpen(factor)) fixed.factors.push_back(factor);
  }
  const int64_t inner = elementsOf(fixed);
  if (elements < 1 || inner < 1 || elements % inner != 0) return std::nullopt;
  ops::Pattern now = pattern;
  const auto setSize = [](ops::Factor& factor, int64_t size) { factor = {size, 0, size, false}; };
  const size_t open = pattern.factors.size() - fixed.factors.size();
  if (open == 1) {
    setSize(*std::ranges::find_if(now.factors, isOpen), elements / inner);
  } else {
    const bool outside = open == 2 && isOpen(now.factors.front()) && isOpen(now.factors.back());
    const auto sizes = outside ? around(shape, inner, elements) : std::nullopt;
    if (!sizes) return std::nullopt;
    setSize(now.factors.front(), sizes->first);
    setSize(now.factors.back(), sizes->second);
  }
  now = ops::Pattern::fromFactors(now.factors);
  return ops::alignTo(now, shape) ? std::optional(std::move(now)) : std::nullopt;
}

std::string planToJson(const fold::FoldPlan& plan, const Graph& graph, const std::vector<analysis::LayerNorm>& norms,
                       const std::string& xxh3) {
  json edits = json::array();
  for (const auto& edit : plan.edits) {
    edits.push_back(std::visit(ToJson{graph, norms}, edit));
    edits.back()["kind"] = nameOf(kindOf(edit));
  }
  const json out = {{"schema", kSchema}, {"model_xxh3", xxh3}, {"policy", nameOf(plan.policy)}, {"edits", edits}};
  return out.dump(1, ' ', false, json::error_handler_t::replace) + "\n";
}

Result<fold::FoldPlan> planFromJson(const std::string& text, const Graph& graph,
                                    const std::vector<analysis::LayerNorm>& norms, const SourceBy& sourceBy) {
  fold::FoldPlan plan;
  try {
    const json root = json::parse(text);
    if (whole(root.at("schema")) != kSchema) throw std::runtime_error("another schema");
    plan.policy = fromName<Policy>(root.at("policy").get<std::string>()).value_or(Policy::Balanced);
    const bool isOld = root.contains("model_sha256");
    const auto& source = root.at(isOld ? "model_sha256" : "model_xxh3").get_ref<const std::string&>();
    ASSIGN_OR_RETURN(const auto own, sourceBy(isOld ? formats::HashKind::Sha256 : formats::HashKind::Xxh3));
    if (source != own) {
      return fail(ErrorCode::BadInput, "this plan was made for another model file", kNewPlan);
    }
    const FromJson reader(graph, norms);
    for (const json& item : root.at("edits")) plan.edits.push_back(reader.edit(item));
  } catch (const OtherSizes& error) {
    return fail(ErrorCode::BadInput, std::string("this plan was made at other input sizes: ") + printable(error.what()),
                "give the same inputs as then, or make a new plan with --save-plan");
  } catch (const json::parse_error& error) {
    return fail(ErrorCode::Unreadable,
                "not a NormLens plan: no JSON, or cut off, at byte " + std::to_string(error.byte), kNewPlan);
  } catch (const json::exception&) {
    return fail(ErrorCode::Unreadable, "not a NormLens plan: a field is missing or of another type", kNewPlan);
  } catch (const std::exception& error) {
    return fail(ErrorCode::Unreadable, "not a NormLens plan: " + printable(plainError(error)), kNewPlan);
  }
  return plan;
}

}  // namespace normlens::service
