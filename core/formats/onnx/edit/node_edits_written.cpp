// NodeEdits: norms that are written out in several nodes.
#include <algorithm>
#include <map>

#include "core/formats/edit/edit_refused.h"
#include "core/formats/onnx/edit/node_edits.h"

namespace normlens::formats::onnx {

using analysis::LayerNorm;
using graph::kNone;
using graph::NodeId;
using graph::OpKind;
using graph::ValueId;

std::optional<NodeEdits::Scaling> NodeEdits::scalingOf(const LayerNorm& norm, const ReadSite& end) {
  const auto& uses = graph_.value(norm.output).uses;
  if (uses.size() != 1 || uses[0].node == kNone || graph_.node(uses[0].node).kind != OpKind::Mul) return std::nullopt;
  const auto& mul = graph_.node(uses[0].node);
  const auto other = static_cast<size_t>(1 - uses[0].operand);
  const auto& gamma = graph_.value(mul.operands.at(other));
  const auto& shape = graph_.value(norm.input).shape;
  const bool fits = shape && analysis::areLastAxes(norm.axes, shape->size()) && gamma.shape == norm.normalizedShape &&
                    !norm.normalizedShape.empty() && gamma.dtype == graph_.value(norm.input).dtype &&
                    gamma.constant != kNone;
  const ReadSite gammaSite = siteOf(uses[0].node, other);
  if (!fits || gammaSite.body != end.body || gammaSite.input < 0) return std::nullopt;
  // A centering may be between by now.
  const ReadSite dataSite = siteOf(uses[0].node, static_cast<size_t>(uses[0].operand));
  if (dataSite.input < 0 || EditableModel::nameAt(dataSite) != end.node->output(0)) return std::nullopt;
  return Scaling{gammaSite, EditableModel::nameAt(gammaSite)};
}

void NodeEdits::replaceDecomposed(const LayerNorm& norm) {
  const ReadSite end = siteOf(norm.node, 0);
  const NormStyle style = styleIn(*end.body);
  const bool stays = !norm.anew && (norm.asOne || graph_.node(norm.node).kind == OpKind::RmsNorm);
  const auto scaling = style == NormStyle::Primitives || stays ? std::nullopt : scalingOf(norm, end);
  if (!norm.anew && !scaling) return dropSubtraction(norm);
  // One norm from the input to the output; what was between is swept out where nothing else reads it.
  NormToWrite out = describe(norm, end, inputName(norm, *end.body));
  if (scaling) {
    out.node = scaling->site.node;
    out.gamma = scaling->gamma;
    out.output = scaling->site.node->output(0);
  }
  if (!norm.anew && !expressible(style, out)) return dropSubtraction(norm);
  write(out);
  if (scaling) model_.remove(*end.body, *end.node);
}

std::string NodeEdits::inputName(const LayerNorm& norm, const Body& body) {
  for (const NodeId member : norm.members) {
    const auto& node = graph_.node(member);
    const auto read = std::ranges::find(node.operands, norm.input);
    if (read == node.operands.end() || !(norm.anew || node.kind == OpKind::Sub)) continue;
    const ReadSite site = siteOf(member, static_cast<size_t>(read - node.operands.begin()));
    if (site.input < 0 || site.body != &body) continue;
    return EditableModel::nameAt(site);
  }
  throw EditRefused("the subtraction of '" + norm.name + "' stands in another body");
}

void NodeEdits::dropSubtraction(const LayerNorm& norm) {
  for (const auto& leftOut : norm.leftOut) leaveOut(leftOut.node, leftOut.operand);
  std::map<ValueId, std::pair<ReadSite, std::string>> centered;
  for (const NodeId member : norm.members) {
    const auto& node = graph_.node(member);
    if (node.kind == OpKind::Reduce && graph::stringAttribute(node, "op") == "var") {
      throw EditRefused("'" + norm.name + "' takes a variance, which has no other form here");
    }
    if (node.kind != OpKind::Sub || node.operands.at(0) != norm.input) continue;
    const ReadSite site = siteOf(member, 0);
    centered[node.outputs.at(0)] = {site, EditableModel::nameAt(site)};
  }
  for (const NodeId member : norm.members) {
    const auto& node = graph_.node(member);
    for (size_t operand = 0; operand < node.operands.size(); ++operand) {
      const auto found = centered.find(node.operands[operand]);
      if (found == centered.end()) continue;
      const ReadSite read = siteOf(member, operand);
      if (read.input < 0 || read.body != found->second.first.body) {
        throw EditRefused("the parts of '" + norm.name + "' stand in different bodies");
      }
      model_.setInput(read, found->second.second);
    }
  }
}

}  // namespace normlens::formats::onnx
