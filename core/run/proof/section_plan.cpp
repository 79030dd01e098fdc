#include "core/run/proof/section_plan.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace normlens::run {
namespace {

using graph::ConstantId;
using graph::NodeId;
using graph::ValueId;

class InSection {
 public:
  InSection(const NormsOfGraph& whole, const NormsOfGraph& section) : whole_(whole), section_(section) {
    for (size_t i = 0; i < section.graph.values.size(); ++i)
      values_.emplace(section.graph.values[i].name, static_cast<ValueId>(i));
    for (size_t i = 0; i < section.graph.constants.size(); ++i)
      constants_.emplace(section.graph.constants[i].name, static_cast<ConstantId>(i));
  }

  // Each is nullopt where the section has nothing of it.

  std::optional<fold::Edit> operator()(fold::AbsorbScale edit) const {
    if (!to(edit.scaleNode)) return std::nullopt;
    for (auto& part : edit.parts) {
      if (!toConstant(part.constant)) return std::nullopt;
    }
    return edit;
  }
  std::optional<fold::Edit> operator()(fold::CenterConstant edit) const {
    for (auto& part : edit.parts) {
      if (!toConstant(part.constant)) return std::nullopt;
    }
    edit.uses = usesOf(edit.uses);
    return edit.uses.empty() ? std::nullopt : std::optional<fold::Edit>(std::move(edit));
  }
  std::optional<fold::Edit> operator()(fold::InsertCentering edit) const { return atValue(std::move(edit)); }
  std::optional<fold::Edit> operator()(fold::DropAddend edit) const { return atValue(std::move(edit)); }
  std::optional<fold::Edit> operator()(fold::AbsorbShift edit) const {
    const auto norm = normOf(edit.norm);
    if (!norm || !to(edit.shiftNode)) return std::nullopt;
    edit.norm = *norm;
    std::erase_if(edit.parts, [&](auto& part) {
      const auto use = useOf(part.weightUse);
      if (!use || !toConstant(part.weight) || !toConstant(part.bias)) return true;
      part.weightUse = *use;
      return false;
    });
    return edit;
  }
  std::optional<fold::Edit> operator()(fold::AbsorbGain edit) const {
    if (!to(edit.gainNode)) return std::nullopt;
    std::erase_if(edit.parts, [&](auto& part) { return !toConstant(part.weight); });
    return edit;
  }
  // Its parts are in several sections: without it the proof of those fails.
  std::optional<fold::Edit> operator()(const fold::RestoreMean& /*edit*/) const { return std::nullopt; }
  std::optional<fold::Edit> operator()(fold::ReplaceNorm edit) const {
    const auto norm = normOf(edit.norm);
    if (!norm) return std::nullopt;
    return fold::ReplaceNorm{*norm};
  }

 private:
  [[nodiscard]] std::optional<ValueId> valueOf(ValueId whole) const {
    const auto found = values_.find(whole_.graph.value(whole).name);
    return found == values_.end() ? std::nullopt : std::optional(found->second);
  }

  // False: there is none. A node is found by its first output, whose name is unique; at a cut that is an input, not
  // made.
  bool to(NodeId& node) const {
    const graph::Node& whole = whole_.graph.node(node);
    const auto made = whole.outputs.empty() ? std::nullopt : valueOf(whole.outputs[0]);
    const NodeId producer = made ? section_.graph.value(*made).producer : graph::kNone;
    if (producer == graph::kNone) return false;
    const graph::Node& same = section_.graph.node(producer);
    if (same.op != whole.op || same.name != whole.name) return false;
    node = producer;
    return true;
  }
  [[nodiscard]] bool toConstant(ConstantId& constant) const {
    const auto found = constants_.find(whole_.graph.constant(constant).name);
    if (found == constants_.end()) return false;
    constant = found->second;
    return true;
  }

  [[nodiscard]] std::optional<graph::Use> useOf(graph::Use use) const {
    if (use.node == graph::kNone || !to(use.node)) return std::nullopt;
    return use;
  }
  [[nodiscard]] graph::Uses usesOf(const graph::Uses& uses) const {
    graph::Uses out;
    for (const graph::Use& use : uses) {
      if (const auto here = useOf(use)) out.push_back(*here);
    }
    return out;
  }

  template <class Edit>
  [[nodiscard]] std::optional<fold::Edit> atValue(Edit edit) const {
    const auto value = valueOf(edit.value);
    edit.uses = usesOf(edit.uses);
    if (!value || edit.uses.empty()) return std::nullopt;
    edit.value = *value;
    return edit;
  }

  [[nodiscard]] std::optional<int> normOf(int norm) const {
    const auto output = valueOf(whole_.norms.at(static_cast<size_t>(norm)).output);
    const auto found = std::ranges::find_if(section_.norms, [&](const auto& own) { return own.output == output; });
    if (found == section_.norms.end()) return std::nullopt;
    return static_cast<int>(found - section_.norms.begin());
  }

  const NormsOfGraph& whole_;
  const NormsOfGraph& section_;
  std::unordered_map<std::string_view, ValueId> values_;
  std::unordered_map<std::string_view, ConstantId> constants_;
};

}  // namespace

fold::FoldPlan planOfSection(const fold::FoldPlan& plan, const NormsOfGraph& whole, const NormsOfGraph& section) {
  const InSection inSection(whole, section);
  fold::FoldPlan out{plan.policy, {}};
  for (const fold::Edit& edit : plan.edits) {
    if (auto part = std::visit([&](const auto& one) { return inSection(one); }, edit))
      out.edits.push_back(std::move(*part));
  }
  return out;
}

}  // namespace normlens::run
