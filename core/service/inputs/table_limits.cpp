#include "core/service/inputs/table_limits.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>

#include "core/base/printable.h"

namespace normlens::service {
namespace {

using graph::OpKind;
using graph::ValueId;

// Inputs that an index is made from.
struct Sources {
  std::set<ValueId> values;  // their elements are the index
  std::set<ValueId> sizes;   // their counts decide how far it goes
};

bool keepsElements(OpKind kind) {
  switch (kind) {
    case OpKind::Identity:
    case OpKind::Cast:
    case OpKind::Reshape:
    case OpKind::Permute:
    case OpKind::Expand:
    case OpKind::Slice:
    case OpKind::Select:
    case OpKind::Split:
    case OpKind::Concat:
    case OpKind::Stack:
      return true;
    default:
      return false;
  }
}

// Backwards from an index. Once a value was computed with, only sizes count: positions are numbered, or summed up from
// a mask.
Sources sourcesOf(const graph::Graph& graph, ValueId index) {
  Sources found;
  std::set<std::pair<ValueId, bool>> seen;
  std::vector<std::pair<ValueId, bool>> left{{index, true}};
  while (!left.empty()) {
    const auto [id, same] = left.back();
    left.pop_back();
    if (id == graph::kNoValue || !seen.insert({id, same}).second) continue;
    const graph::Value& value = graph.value(id);
    if (value.paramOf == 0) (same ? found.values : found.sizes).insert(id);
    if (value.producer == graph::kNone) continue;
    const graph::Node& node = graph.node(value.producer);
    for (const ValueId operand : node.operands) left.emplace_back(operand, same && keepsElements(node.kind));
  }
  return found;
}

struct Table {
  int64_t rows = 0;
  std::string name;
};

std::optional<Table> tableOf(const graph::Graph& graph, const graph::Node& node) {
  const auto axis = graph::intAttribute(node, "axis");
  if (node.operands.empty() || node.operands[0] == graph::kNoValue || !axis) return std::nullopt;
  const graph::Value& table = graph.value(node.operands[0]);
  if (table.constant == graph::kNone || !table.shape || *axis < 0 ||
      static_cast<size_t>(*axis) >= table.shape->size()) {
    return std::nullopt;
  }
  return Table{(*table.shape)[static_cast<size_t>(*axis)], printable(table.name)};
}

std::string tooHigh(const Table& table, const formats::InputSpec& input) {
  const auto highest = static_cast<int64_t>(input.high);
  if (graph::isFloat(input.dtype) || highest < table.rows) return {};
  return table.name + " has " + std::to_string(table.rows) + " rows: the values of " + printable(input.name) +
         " can go up to " + std::to_string(table.rows - 1) + ", and " + std::to_string(highest) + " was asked for";
}

std::string tooLong(const Table& table, const formats::InputSpec& input) {
  const auto longest = std::ranges::max_element(input.shape);
  if (longest == input.shape.end() || *longest <= table.rows) return {};
  return table.name + " has " + std::to_string(table.rows) + " rows: " + printable(input.name) +
         " can have no more than " + std::to_string(table.rows) + " along an axis, and " + std::to_string(*longest) +
         " were asked for";
}

}  // namespace

std::string missingRows(const graph::Graph& graph, const std::vector<formats::InputSpec>& inputs) {
  const auto& params = graph.blocks.front().params;
  const auto find = [&](const Table& table, const std::set<ValueId>& sources, auto complain) {
    for (size_t i = 0; i < inputs.size(); ++i) {
      const auto named =
          std::ranges::find_if(params, [&](ValueId id) { return graph.value(id).name == inputs[i].name; });
      // Inputs that a run takes by their place ("in_0").
      const ValueId id = named != params.end() ? *named : i < params.size() ? params[i] : graph::kNoValue;
      if (!sources.contains(id)) continue;
      if (std::string sentence = complain(table, inputs[i]); !sentence.empty()) return sentence;
    }
    return std::string();
  };
  for (const graph::Node& node : graph.nodes) {
    if (node.kind != OpKind::Gather || node.operands.size() < 2) continue;
    const auto table = tableOf(graph, node);
    if (!table) continue;
    const Sources sources = sourcesOf(graph, node.operands[1]);
    std::string sentence = find(*table, sources.values, tooHigh);
    if (sentence.empty() && sources.values.empty()) sentence = find(*table, sources.sizes, tooLong);
    if (!sentence.empty()) return sentence;
  }
  return {};
}

}  // namespace normlens::service
