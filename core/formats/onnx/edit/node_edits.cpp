#include "core/formats/onnx/edit/node_edits.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <utility>

#include "core/formats/edit/edit_refused.h"
#include "core/formats/edit/mean_tensors.h"
#include "core/formats/onnx/edit/apply_centering.h"
#include "core/formats/onnx/edit/norms/apply_norm.h"
#include "core/formats/onnx/edit/norms/fused_norms.h"
#include "core/graph/queries.h"

namespace normlens::formats::onnx {
namespace {

using analysis::LayerNorm;
using graph::kNone;
using graph::kNoValue;
using graph::NodeId;
using graph::OpKind;
using graph::ValueId;

using Ints = std::vector<int64_t>;

// Whole numbers that the file writes down; empty where it does not.
Ints writtenInts(const Origin& origin) {
  const TensorProto* tensor = nullptr;
  if (origin.kind == Origin::Kind::Initializer) {
    tensor = &origin.body->graph->initializer(origin.body->initializer.at(origin.name));
  } else if (origin.kind == Origin::Kind::Node && origin.node->op_type() == "Constant") {
    if (const auto* ints = findAttribute(*origin.node, "value_ints")) return {ints->ints().begin(), ints->ints().end()};
    if (const auto* one = findAttribute(*origin.node, "value_int")) return {one->i()};
    const auto* value = findAttribute(*origin.node, "value");
    tensor = value != nullptr && value->has_t() ? &value->t() : nullptr;
  } else if (origin.kind == Origin::Kind::Node && origin.node->op_type() == "Unsqueeze") {
    return writtenInts(EditableModel::originOf(*origin.body, origin.node->input(0)));
  }
  if (tensor == nullptr || tensor->data_type() != TensorProto::INT64 ||
      tensor->data_location() == TensorProto::EXTERNAL)
    return {};
  if (!tensor->has_raw_data()) return {tensor->int64_data().begin(), tensor->int64_data().end()};
  Ints out(tensor->raw_data().size() / sizeof(int64_t));
  std::memcpy(out.data(), tensor->raw_data().data(), out.size() * sizeof(int64_t));
  return out;
}

// That size of a list of `rank` sizes is written down as one that a Reshape or Expand leaves open: -1, 0 or 1. The list
// is joined of pieces of which one at most is computed.
bool isLeftOpen(const Origin& origin, size_t axis, size_t rank) {
  if (origin.kind != Origin::Kind::Node || origin.node->op_type() != "Concat") return false;
  std::vector<Ints> pieces;
  size_t known = 0, computed = 0;
  for (const auto& name : origin.node->input()) {
    pieces.push_back(writtenInts(EditableModel::originOf(*origin.body, name)));
    known += pieces.back().size();
    computed += pieces.back().empty() ? 1 : 0;
  }
  const bool oneEach = pieces.size() == rank;
  if (!oneEach && computed > 1) return true;  // cannot be decided
  size_t at = 0;
  for (const Ints& piece : pieces) {
    const size_t length = !piece.empty() ? piece.size() : oneEach ? 1 : rank - known;
    if (axis < at + length) return !piece.empty() && piece[axis - at] <= 1;
    at += length;
  }
  return true;
}

// A list of `count` sizes with another one in one place.
std::string withSize(NodeMaker& nodes, const std::string& sizes, int64_t place, int64_t count, int64_t size) {
  std::vector<std::string> parts;
  if (place > 0) parts.push_back(nodes.slice(sizes, 0, 0, place));
  parts.push_back(nodes.ints({size}));
  if (place + 1 < count) parts.push_back(nodes.slice(sizes, 0, place + 1, count));
  return nodes.concat(parts, 0);
}

class NodeEdits final : public EditTarget {
 public:
  NodeEdits(const Lowered& lowered, EditableModel& model, Dialect dialect, graph::DType usualType,
            std::optional<graph::DType> everyType)
      : lowered_(lowered),
        graph_(lowered.graph),
        model_(model),
        dialect_(dialect),
        usualType_(usualType),
        everyType_(everyType) {}

  [[nodiscard]] bool isInside(const graph::Use& read) const override {
    return read.node != kNone && siteInput(read.node, static_cast<size_t>(read.operand)) < 0;
  }

  // The operand is broadcast where the shapes differ.
  void bypass(NodeId id, size_t operand) override {
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

  void insert(ValueId value, const graph::Uses& uses, const ReadCode& code) override {
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
    const auto dtype = dtypeOf(value, usualType_);
    for (const auto& [where, reads] : groups) insertCode(model_, reads, opsetOf(*where.first), dtype, code);
  }

  void restore(const std::vector<fold::RestoreMean>& edits) override {
    std::map<ValueId, std::string> means;  // by the value of an edit
    for (const auto& edit : edits) {
      const ReadSite made = siteOf(graph_.value(edit.value).producer, 0);
      std::vector<std::string> terms = termsOf(edit, made);
      for (const ValueId earlier : edit.earlier) {
        if (!means.contains(earlier)) throw EditRefused("a mean is asked for that the plan has not carried so far");
        terms.push_back(means.at(earlier));
      }
      std::vector<ReadSite> reads;
      for (const auto& use : edit.uses) reads.push_back(siteOf(use, graph_.value(edit.value).name));
      if (reads.empty() || terms.empty()) throw EditRefused("a mean is given back to no read");
      const std::string x = EditableModel::nameAt(reads[0]);
      const Body& body = EditableModel::bodyThatMakes(*reads[0].body, x);
      for (const ReadSite& read : reads) {
        if (EditableModel::nameAt(read) != x || &body != made.body || !body.madeBy.contains(x))
          throw EditRefused("a stream that would keep its mean is read in several functions or branches");
      }
      NodeMaker nodes(*made.body, opsetOf(*made.body), x + "_whole", made.node);
      std::string mean = terms[0];
      for (size_t i = 1; i < terms.size(); ++i) mean = nodes.add("Add", {mean, terms[i]});
      means[edit.value] = mean;
      // An output of the model keeps its name.
      const bool isOutput = std::ranges::any_of(reads, [](const ReadSite& read) { return read.node == nullptr; });
      const std::string z = isOutput ? model_.renameOutput(*made.body, *made.node, x, reads) : x;
      const std::string whole = nodes.add("Add", {z, mean}, isOutput ? x : "");
      model_.addBehind(*made.body, made.node, nodes.take());
      if (isOutput) continue;
      for (const ReadSite& read : reads) model_.setInput(read, whole);
    }
  }

  // x - x is 0 of the same shape, whatever its type and in every version of the operators.
  void drop(const graph::Use& use, std::optional<size_t> sum) override {
    const ReadSite site = use.node == kNone ? returnSite(use) : siteOf(use.node, static_cast<size_t>(use.operand));
    if (site.input < 0) throw EditRefused("an addend that is to be dropped exists only inside a fused operation");
    const bool plainSum = site.node != nullptr && (site.node->op_type() == "Add" || site.node->op_type() == "Sub");
    if (sum && plainSum) return bypass(use.node, *sum);
    const std::string x = EditableModel::nameAt(site);
    NodeMaker nodes(*site.body, opsetOf(*site.body), x + "_dropped", site.node);
    const std::string zeros = nodes.add("Sub", {x, x});
    model_.addBefore(*site.body, site.node, nodes.take());
    model_.setInput(site, zeros);
  }

  void resize(const fold::ResizeAxis& edit) override {
    ReadSite site = siteOf(edit.node, 0);
    const std::string op = site.node->op_type();
    if (op == "Shape") return tellSize(edit, site);
    if (op != "Reshape" && op != "Expand") return;
    site.input = 1;
    const Origin origin = EditableModel::originOf(*site.body, EditableModel::nameAt(site));
    const auto axis = static_cast<size_t>(edit.axis);
    const size_t rank = graph_.value(graph_.node(edit.node).outputs.at(0)).shape.value().size();
    NodeMaker nodes(*site.body, opsetOf(*site.body), site.node->output(0) + "_narrow", site.node);
    std::string narrow;
    if (Ints sizes = writtenInts(origin); !sizes.empty()) {
      if (axis >= sizes.size() || sizes[axis] <= 1) return;  // what is left, what it was, or any
      sizes[axis] = edit.channels.width;
      narrow = nodes.ints(sizes);
    } else if (!isLeftOpen(origin, axis, rank)) {
      narrow = withSize(nodes, EditableModel::nameAt(site), edit.axis, static_cast<int64_t>(rank), edit.channels.width);
    }
    if (narrow.empty()) return;
    model_.addBefore(*site.body, site.node, nodes.take());
    model_.setInput(site, narrow);
  }

  void replaceOp(const LayerNorm& norm, KeptVectors kept, int64_t narrow) override {
    const ReadSite at = siteOf(norm.node, 0);
    if (narrow == 0 && isFusedNorm(*at.node)) return replaceFused(norm, at, kept);
    const std::string& op = at.node->op_type();
    if (op != "LayerNormalization" && op != "GroupNormalization" && op != "InstanceNormalization") {
      throw EditRefused("'" + norm.name + "' is part of a fused operation, " + at.node->op_type());
    }
    writeOperator(norm, at, kept, narrow);
  }

  void replaceDecomposed(const LayerNorm& norm, KeptVectors kept) override {
    const ReadSite end = siteOf(norm.node, 0);
    const NormStyle style = styleIn(*end.body);
    const bool stays = !norm.anew && (norm.asOne || graph_.node(norm.node).kind == OpKind::RmsNorm);
    const auto scaling = style == NormStyle::Primitives || stays || !kept.gamma ? std::nullopt : scalingOf(norm, end);
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

 private:
  // Writes the terms of a fold::RestoreMean, each in front of the node that shows it; `made`: whose body all have to be
  // in.
  std::vector<std::string> termsOf(const fold::RestoreMean& edit, const ReadSite& made) {
    const auto dtype = dtypeOf(edit.value, usualType_);
    std::vector<std::string> terms;
    const auto before = [&](const graph::Use& use, const auto& make) {
      const ReadSite site = siteOf(use.node, static_cast<size_t>(use.operand));
      needPlace(site, made);
      const std::string x = EditableModel::nameAt(site);
      NodeMaker nodes(*site.body, opsetOf(*site.body), x + "_mean", site.node);
      terms.push_back(make(nodes, x));
      model_.addBefore(*site.body, site.node, nodes.take());
    };
    for (const auto& linear : edit.linears) {
      const auto& weight = graph_.constant(linear.weight).view;
      before({linear.node, linear.input, kNone}, [&](NodeMaker& nodes, const std::string& x) {
        graph::TensorView row = meanOfOutputs(weight, linear.inputDim, dtype);
        std::swap(row.shape[0], row.shape[1]);  // one of the two is 1
        row.strides = {1, 1};
        const std::string column = nodes.tensor(row);
        return nodes.add("MatMul", {x, column});
      });
      if (linear.viewed != kNoValue) terms.back() = withRowsOf(linear.viewed, terms.back(), made);
    }
    for (const graph::Use& use : edit.constants) {
      const auto constant = valueRead(use).constant;
      before(use, [&](NodeMaker& nodes, const std::string& /*x*/) {
        return nodes.tensor(meanOfRows(graph_.constant(constant).view, dtype));
      });
    }
    for (const graph::Use& use : edit.values) {
      before(use, [&](NodeMaker& nodes, const std::string& x) {
        const auto& shape = valueRead(use).shape;
        return nodes.mean(x, {nodes.opset() >= 11 ? -1 : static_cast<int64_t>(shape.value().size()) - 1});
      });
    }
    return terms;
  }

  [[nodiscard]] const graph::Value& valueRead(const graph::Use& use) const {
    return graph_.value(graph_.node(use.node).operands.at(static_cast<size_t>(use.operand)));
  }

  // The parts of a mean are in the body of the stream, each where the file itself has a node.
  static void needPlace(const ReadSite& part, const ReadSite& made) {
    if (part.input < 0 || part.body != made.body)
      throw EditRefused("a part of a mean is computed in a function, a branch or a fused operation");
  }

  // Shapes the mean of rows as a view of these, behind that view.
  std::string withRowsOf(ValueId view, const std::string& mean, const ReadSite& made) {
    const ReadSite site = siteOf(graph_.value(view).producer, 0);
    needPlace(site, made);
    if (site.node->output_size() != 1) throw EditRefused("a view of a linear layer's rows is a fused operation");
    const std::string z = site.node->output(0);
    NodeMaker nodes(*site.body, opsetOf(*site.body), z + "_mean", site.node);
    const std::string rows = nodes.slice(nodes.add("Shape", {z}), 0, 0, -1), one = nodes.ints({1});
    const std::string sizes = nodes.concat({rows, one}, 0);
    std::string viewed = nodes.add("Reshape", {mean, sizes});
    model_.addBehind(*site.body, site.node, nodes.take());
    return viewed;
  }

  [[nodiscard]] int siteInput(NodeId node, size_t operand) const {
    return lowered_.operandSites[static_cast<size_t>(node)].at(operand).input;
  }

  ReadSite siteOf(NodeId node, size_t operand) {
    return model_.at(lowered_.nodePath[static_cast<size_t>(node)], siteInput(node, operand));
  }

  ReadSite siteOf(const graph::Use& use, const std::string& valueName) {
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

  ReadSite returnSite(const graph::Use& use) {
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

  [[nodiscard]] int opsetOf(const Body& body) const {
    return EditableModel::insideFunction(body) ? model_.opset(body) : dialect_.opset;
  }

  [[nodiscard]] graph::DType dtypeOf(ValueId value, graph::DType otherwise) const {
    if (everyType_) return *everyType_;
    const auto dtype = value == kNoValue ? graph::DType::Unknown : graph_.value(value).dtype;
    return dtype == graph::DType::Unknown ? otherwise : dtype;
  }

  // Returns how a norm in this body is written.
  [[nodiscard]] NormStyle styleIn(const Body& body) const {
    const bool insideFunction = EditableModel::insideFunction(body);
    const int opset = opsetOf(body);
    if (dialect_.flavour == NormFlavour::Primitives || dialect_.flavour == NormFlavour::Portable)
      return NormStyle::Primitives;
    // ONNX Runtime crashes on an operator of its own in the standard domain that is in a local function.
    if (dialect_.flavour == NormFlavour::Ort || dialect_.flavour == NormFlavour::Fast) {
      return insideFunction ? NormStyle::Primitives : NormStyle::Ort;
    }
    if (opset >= kRmsOpset) return NormStyle::Standard;
    throw EditRefused("a standard norm inside a function of opset " + std::to_string(opset) +
                      " is not possible; a portable one is");
  }

  // Describes a norm without gamma and beta, in the place of the node.
  [[nodiscard]] NormToWrite describe(const LayerNorm& norm, const ReadSite& at, std::string input) const {
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

  void write(const NormToWrite& norm) {
    const NormStyle wanted = styleIn(*norm.body);
    writeNorm(model_, expressible(wanted, norm) ? wanted : NormStyle::Primitives, opsetOf(*norm.body), norm);
  }

  void writeOperator(const LayerNorm& norm, const ReadSite& at, KeptVectors kept, int64_t narrow) {
    NormToWrite out = describe(norm, at, inputOf(*at.node, 0));
    out.narrow = narrow;
    // A function's input has a name also where the call leaves it out.
    const bool needsGamma = kept.gamma || styleIn(*at.body) != NormStyle::Primitives;
    if (narrow == 0 && norm.gamma != kNoValue && needsGamma) out.gamma = inputOf(*at.node, 1);
    if (kept.beta && norm.beta != kNoValue) out.beta = inputOf(*at.node, 2);
    if (const auto* stash = findAttribute(*at.node, "stash_type")) out.stashType = stash->i();
    if (norm.type != NormType::LayerNorm) viewByGroups(norm, out);
    write(out);
  }

  // [rows, groups, channels]. gamma and beta have a number for each group (InstanceNormalization, and
  // GroupNormalization before opset 21) or for each channel. All these sizes are the same in every run.
  void viewByGroups(const LayerNorm& norm, NormToWrite& out) const {
    const bool ofGroups = norm.type == NormType::GroupNorm;
    const int64_t groups = ofGroups ? norm.groups : graph_.value(norm.input).shape.value()[1];
    out.affine = {groups, -1};
    if (ofGroups || norm.axes.size() > 1) out.view = {-1, groups, graph::elementCount(norm.normalizedShape).value()};
    out.axesCount = 1;
    out.rank = 3;
  }

  // The sum or the look-ups in front of a fused norm become nodes; the norm itself a LayerNormalization.
  void writeOut(const ReadSite& at) {
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

  void replaceFused(const LayerNorm& norm, const ReadSite& at, KeptVectors kept) {
    const bool skip = at.node->op_type() == "SkipLayerNormalization";
    if (skip && styleIn(*at.body) == NormStyle::Ort) {
      return writeSkipNorm(model_, *at.body, *at.node, opsetOf(*at.body), kept.beta);
    }
    writeOut(at);
    writeOperator(norm, at, kept, 0);
  }

  // A query for a size of a narrow value still returns d: what reads it is not narrow, or resized.
  void tellSize(const fold::ResizeAxis& edit, const ReadSite& query) {
    const auto rank = static_cast<int64_t>(graph_.value(graph_.node(edit.node).operands.at(0)).shape.value().size());
    const auto bound = [&](const char* name, int64_t otherwise) {
      const auto* attribute = findAttribute(*query.node, name);
      const int64_t at = attribute == nullptr ? otherwise : attribute->i();
      return std::clamp<int64_t>(at < 0 ? at + rank : at, 0, rank);
    };
    const int64_t first = bound("start", 0), end = bound("end", rank), place = edit.axis - first, count = end - first;
    if (place < 0 || place >= count) return;
    std::vector<ReadSite> reads;
    for (const auto& read : model_.readsOf(*query.body, query.node->output(0), /*intoCalls=*/false)) {
      const bool picks = read.node != nullptr && read.node->op_type() == "Gather" && read.input == 0;
      const Ints index = picks ? writtenInts(EditableModel::originOf(*read.body, read.node->input(1))) : Ints();
      const auto other = [&](int64_t i) { return i + (i < 0 ? count : 0) != place; };
      if (index.empty() || !std::ranges::all_of(index, other)) reads.push_back(read);
    }
    if (reads.empty()) return;
    const std::string sizes = query.node->output(0);
    NodeMaker nodes(*query.body, opsetOf(*query.body), sizes + "_told", query.node);
    const std::string told = withSize(nodes, sizes, place, count, edit.channels.full);
    model_.addBehind(*query.body, query.node, nodes.take());
    for (const auto& read : reads) model_.setInput(read, told);
  }

  // The Mul that applies gamma to the norm's output, where that is all that happens to it.
  struct Scaling {
    ReadSite site;
    std::string gamma;
  };
  std::optional<Scaling> scalingOf(const LayerNorm& norm, const ReadSite& end) {
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

  // Returns the name that the norm's subtraction, or the first node of one that is written anew, reads by now.
  std::string inputName(const LayerNorm& norm, const Body& body) {
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

  // x - mean becomes x for the norm's own nodes, mean(x^2) - mean(x)^2 the former; whatever only the mean needed is
  // removed later.
  void dropSubtraction(const LayerNorm& norm) {
    for (const auto& leftOut : norm.leftOut) bypass(leftOut.node, leftOut.operand);
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

  const Lowered& lowered_;
  const graph::Graph& graph_;
  EditableModel& model_;
  Dialect dialect_;
  graph::DType usualType_;
  std::optional<graph::DType> everyType_;
};

}  // namespace

std::unique_ptr<EditTarget> nodeEdits(const Lowered& lowered, EditableModel& model, Dialect dialect,
                                      graph::DType usualType, std::optional<graph::DType> everyType) {
  return std::make_unique<NodeEdits>(lowered, model, dialect, usualType, everyType);
}

}  // namespace normlens::formats::onnx
