// NodeEdits: narrow streams.
#include <algorithm>
#include <cstring>

#include "core/formats/edit/edit_refused.h"
#include "core/formats/onnx/edit/node_edits.h"

namespace normlens::formats::onnx {
namespace {

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

}  // namespace

void NodeEdits::resize(const fold::ResizeAxis& edit) {
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
    std::vector<std::string> parts;
    const std::string sizesName = EditableModel::nameAt(site);
    if (axis > 0) parts.push_back(nodes.slice(sizesName, 0, 0, edit.axis));
    parts.push_back(nodes.ints({edit.channels.width}));
    if (axis + 1 < rank) parts.push_back(nodes.slice(sizesName, 0, edit.axis + 1, static_cast<int64_t>(rank)));
    narrow = nodes.concat(parts, 0);
  }
  if (narrow.empty()) return;
  model_.addBefore(*site.body, site.node, nodes.take());
  model_.setInput(site, narrow);
}

// A query for a size of a narrow value still returns d: what reads it is not narrow, or resized.
void NodeEdits::tellSize(const fold::ResizeAxis& edit, const ReadSite& query) {
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
  std::vector<std::string> parts;
  if (place > 0) parts.push_back(nodes.slice(sizes, 0, 0, place));
  parts.push_back(nodes.ints({edit.channels.full}));
  if (place + 1 < count) parts.push_back(nodes.slice(sizes, 0, place + 1, count));
  const std::string told = nodes.concat(parts, 0);
  model_.addBehind(*query.body, query.node, nodes.take());
  for (const auto& read : reads) model_.setInput(read, told);
}

}  // namespace normlens::formats::onnx
