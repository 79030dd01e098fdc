#include "core/formats/onnx/edit/node_edits.h"

#include <algorithm>
#include <map>
#include <utility>

#include "core/formats/edit/edit_refused.h"
#include "core/formats/onnx/edit/apply_centering.h"
#include "core/formats/onnx/edit/norms/fused_norms.h"
#include "core/graph/queries.h"

namespace normlens::formats::onnx {

using analysis::LayerNorm;
using analysis::NormForm;
using graph::kNone;
using graph::kNoValue;
using graph::NodeId;
using graph::OpKind;
using graph::ValueId;

NormStyle Dialect::styleAt(int bodyOpset, bool insideFunction) const {
  if (flavour == NormFlavour::Primitives) return NormStyle::Primitives;
  // ONNX Runtime crashes on an operator of its own in the standard domain that is in a local function.
  if (flavour == NormFlavour::Ort || flavour == NormFlavour::Fast) {
    return insideFunction ? NormStyle::Primitives : NormStyle::Ort;
  }
  if (bodyOpset >= kRmsOpset) return NormStyle::Standard;
  if (flavour == NormFlavour::Portable) return NormStyle::Primitives;
  throw EditRefused("a standard norm inside a function of opset " + std::to_string(bodyOpset) +
                    " is not possible; a portable one is");
}

void NodeEdits::insert(ValueId value, const graph::Uses& uses, const ReadCode& code) {
  std::vector<ReadSite> all;
  for (const auto& use : uses) {
    const ReadSite site = siteOf(use, graph_.value(value).name);
    if (std::find(all.begin(), all.end(), site) == all.end()) all.push_back(site);
  }
  leaveToCallers(model_, all);
  // One shared computation per body and name.
  std::map<std::pair<Body*, std::string>, std::vector<ReadSite>> groups;
  for (const auto& site : all) {
    const std::string name = EditableModel::nameAt(site);
    groups[{&EditableModel::bodyThatMakes(*site.body, name), name}].push_back(site);
  }
  for (const auto& [where, reads] : groups) insertCode(model_, reads, opsetOf(*where.first), code);
}

// x - x is 0 of the same shape, whatever its type and in every version of the operators.
void NodeEdits::drop(const graph::Use& use, std::optional<size_t> sum) {
  const ReadSite site = use.node == kNone ? returnSite(use) : siteOf(use.node, static_cast<size_t>(use.operand));
  if (site.input < 0) throw EditRefused("an addend that is to be dropped exists only inside a fused operation");
  const bool plainSum = site.node != nullptr && (site.node->op_type() == "Add" || site.node->op_type() == "Sub");
  if (sum && plainSum) return leaveOut(use.node, *sum);
  const std::string x = EditableModel::nameAt(site);
  NodeMaker nodes(*site.body, opsetOf(*site.body), x + "_dropped", site.node);
  const std::string zeros = nodes.add("Sub", {x, x});
  model_.addBefore(*site.body, site.node, nodes.take());
  model_.setInput(site, zeros);
}

void NodeEdits::replaceOp(const LayerNorm& norm, bool keepsBeta, const fold::Channels& narrow) {
  const ReadSite at = siteOf(norm.node, 0);
  if (narrow.full == 0 && isFusedNorm(*at.node)) return replaceFused(norm, at, keepsBeta);
  if (at.node->op_type() != "LayerNormalization") {
    throw EditRefused("'" + norm.name + "' is part of a fused operation, " + at.node->op_type());
  }
  writeOperator(norm, at, keepsBeta, narrow);
}

bool NodeEdits::isInside(const graph::Use& read) const {
  return read.node != kNone && siteInput(read.node, static_cast<size_t>(read.operand)) < 0;
}

void NodeEdits::leaveOut(NodeId id, size_t operand) {
  const auto& node = graph_.node(id);
  const ReadSite site = siteOf(id, operand);
  if (site.input < 0 || site.node->output_size() != 1) {
    throw EditRefused("'" + node.name + "' is part of another operation and cannot be left out");
  }
  const std::string y = site.node->output(0), x = EditableModel::nameAt(site);
  const auto reads = model_.readsOf(*site.body, y, /*intoCalls=*/false);
  const bool isOutput = std::any_of(reads.begin(), reads.end(), [](const ReadSite& read) { return !read.node; });
  if (isOutput || model_.isReadByNewNodes(y)) {
    NodeProto identity = *site.node;  // the output of a body keeps its name, and so does what a centering reads
    identity.set_op_type("Identity");
    identity.clear_attribute();
    identity.clear_input();
    identity.add_input(x);
    model_.replace(*site.body, *site.node, std::move(identity));
    return;
  }
  for (const auto& read : reads) model_.setInput(read, x);
  model_.remove(*site.body, *site.node);
}

int NodeEdits::siteInput(NodeId node, size_t operand) const {
  return lowered_.operandSites[static_cast<size_t>(node)].at(operand).input;
}

ReadSite NodeEdits::siteOf(NodeId node, size_t operand) {
  return model_.at(lowered_.nodePath[static_cast<size_t>(node)], siteInput(node, operand));
}

ReadSite NodeEdits::siteOf(const graph::Use& use, const std::string& valueName) {
  if (use.node == kNone) return returnSite(use);
  ReadSite site = siteOf(use.node, static_cast<size_t>(use.operand));
  if (site.input >= 0) return site;
  const bool entersNorm = graph_.node(use.node).kind == OpKind::LayerNorm && use.operand == 0;
  if (entersNorm && isFusedNorm(*site.node)) writeOut(site);
  if (!entersNorm || site.node->op_type() != "LayerNormalization") {
    throw EditRefused("'" + valueName + "' exists only inside a fused operation, " + site.node->op_type());
  }
  return {site.body, site.node, 0};
}

ReadSite NodeEdits::returnSite(const graph::Use& use) {
  const auto& block = graph_.block(use.block);
  if (block.owner == kNone) return {&model_.main(), nullptr, use.operand};
  const ReadSite owner = model_.at(lowered_.nodePath[static_cast<size_t>(block.owner)], 0);
  const auto& blocks = graph_.node(block.owner).blocks;
  const bool first = !blocks.empty() && blocks[0] == use.block;
  const std::string attribute = owner.node->op_type() != "If" ? "body" : first ? "then_branch" : "else_branch";
  // The outputs of a Scan's block begin with a condition that its body does not have.
  const int output = owner.node->op_type() == "Scan" ? use.operand - 1 : use.operand;
  return {&model_.bodyOf(*owner.body, *owner.node, attribute), nullptr, output};
}

int NodeEdits::opsetOf(const Body& body) const {
  return EditableModel::insideFunction(body) ? model_.opset(body) : dialect_.opset;
}

graph::DType NodeEdits::dtypeOf(ValueId value, graph::DType otherwise) const {
  if (everyType_) return *everyType_;
  const auto dtype = value == kNoValue ? graph::DType::Unknown : graph_.value(value).dtype;
  return dtype == graph::DType::Unknown ? otherwise : dtype;
}

NormToWrite NodeEdits::describe(const LayerNorm& norm, const ReadSite& at, std::string input) const {
  NormToWrite out;
  out.node = at.node;
  out.body = at.body;
  out.like = *at.node;
  out.input = std::move(input);
  out.output = at.node->output(0);
  out.eps = norm.eps;
  if (norm.axes.empty()) throw EditRefused("the axes of '" + norm.name + "' are not known");
  out.axesCount = static_cast<int64_t>(norm.axes.size());
  const auto& shape = graph_.value(norm.input).shape;
  out.rank = shape ? static_cast<int64_t>(shape->size()) : norm.axes.back() + 1;
  out.dtype = dtypeOf(norm.input, usualType_);
  out.outputType = dtypeOf(norm.output, dtypeOf(norm.gamma, out.dtype));
  return out;
}

NormStyle NodeEdits::styleIn(const Body& body) const {
  return dialect_.styleAt(opsetOf(body), EditableModel::insideFunction(body));
}

void NodeEdits::write(const NormToWrite& norm) {
  const NormStyle wanted = styleIn(*norm.body);
  writeNorm(model_, expressible(wanted, norm) ? wanted : NormStyle::Primitives, opsetOf(*norm.body), norm);
}

void NodeEdits::writeOperator(const LayerNorm& norm, const ReadSite& at, bool keepsBeta, const fold::Channels& narrow) {
  NormToWrite out = describe(norm, at, inputOf(*at.node, 0));
  out.narrow = narrow;
  // A function's input has a name also where the call leaves it out.
  if (narrow.full == 0 && norm.gamma != kNoValue) out.gamma = inputOf(*at.node, 1);
  if (keepsBeta && norm.beta != kNoValue) out.beta = inputOf(*at.node, 2);
  if (const auto* stash = findAttribute(*at.node, "stash_type")) out.stashType = stash->i();
  if (narrow.full > 0) return writeNorm(model_, NormStyle::Primitives, opsetOf(*at.body), out);
  write(out);
}

void NodeEdits::writeOut(const ReadSite& at) {
  NodeProto old = *at.node;
  for (auto& output : *old.mutable_output()) {  // some exporters name the statistics that nobody reads
    if (model_.readsOf(*at.body, output, /*intoCalls=*/false).empty() && !model_.isReadByNewNodes(output))
      output.clear();
  }
  NodeMaker nodes(*at.body, opsetOf(*at.body), old.name().empty() ? old.output(0) : old.name(), &old);
  const FusedNorm norm = writeOutFused(nodes, old);
  model_.addBefore(*at.body, at.node, nodes.take());
  NodeProto plain = old;
  plain.set_op_type("LayerNormalization");
  plain.clear_domain();
  plain.clear_input();
  for (const auto& input : {norm.input, norm.gamma, norm.beta}) {
    if (!input.empty()) plain.add_input(input);
  }
  plain.clear_output();
  plain.add_output(old.output(0));
  plain.clear_attribute();
  setInt(plain, "axis", -1);
  if (const auto* eps = findAttribute(old, "epsilon")) *plain.add_attribute() = *eps;
  model_.replace(*at.body, *at.node, std::move(plain));
}

void NodeEdits::replaceFused(const LayerNorm& norm, const ReadSite& at, bool keepsBeta) {
  const bool skip = at.node->op_type() == "SkipLayerNormalization";
  if (skip && styleIn(*at.body) == NormStyle::Ort) {
    return writeSkipNorm(model_, *at.body, *at.node, opsetOf(*at.body), keepsBeta);
  }
  writeOut(at);
  writeOperator(norm, at, keepsBeta, {});
}

}  // namespace normlens::formats::onnx
