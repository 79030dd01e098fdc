// The nodes behind some values, back to where the model is cut.
#include <algorithm>
#include <set>
#include <span>
#include <unordered_map>
#include <unordered_set>

#include "core/base/parallel.h"
#include "core/formats/onnx/edit/edits.h"
#include "core/formats/onnx/edit/node_maker.h"
#include "core/formats/onnx/source/bodies.h"
#include "core/formats/onnx/tensors/float_cast.h"
#include "core/formats/onnx/tensors/tensor_data.h"

namespace normlens::formats::onnx {
namespace {

using Names = std::vector<std::string>;

struct Slice {
  std::set<int> nodes;                    // of the main graph
  std::set<size_t> cuts;                  // that it begins with
  std::unordered_set<std::string> names;  // all that it reads
};

class Slicer {
 public:
  Slicer(const GraphProto& graph, const std::vector<Cut>& cuts) : graph_(graph) {
    for (int i = 0; i < graph.node_size(); ++i) {
      for (const auto& output : graph.node(i).output()) madeBy_.emplace(output, i);
    }
    for (size_t i = 0; i < cuts.size(); ++i) cuts_.emplace(cuts[i].value, i);
  }

  [[nodiscard]] bool makes(const std::string& name) const { return !name.empty() && madeBy_.contains(name); }

  [[nodiscard]] Slice behind(const Names& outputs) const {
    Slice slice;
    Names open;
    const auto need = [&](const std::string& name) {
      const auto node = madeBy_.find(name);
      if (node == madeBy_.end() || !slice.nodes.insert(node->second).second) return;
      eachRead(graph_.node(node->second), [&](const std::string& read) { open.push_back(read); });
    };
    for (const std::string& output : outputs) need(output);
    while (!open.empty()) {
      const std::string name = std::move(open.back());
      open.pop_back();
      if (name.empty() || !slice.names.insert(name).second) continue;
      if (const auto cut = cuts_.find(name); cut != cuts_.end()) {
        slice.cuts.insert(cut->second);
      } else {
        need(name);
      }
    }
    return slice;
  }

 private:
  const GraphProto& graph_;
  std::unordered_map<std::string, int> madeBy_;
  std::unordered_map<std::string, size_t> cuts_;  // by value
};

tl::unexpected<Error> notCut(const std::string& name) {
  return fail(ErrorCode::Unsupported, "the model cannot be cut at '" + name + "'");
}

void declare(::ONNX_NAMESPACE::ValueInfoProto& info, const std::string& name, const Cut& cut) {
  info.set_name(name);
  auto& type = *info.mutable_type()->mutable_tensor_type();
  type.set_elem_type(toOnnxType(cut.dtype));
  auto& shape = *type.mutable_shape();
  for (size_t axis = 0; axis < cut.shape.size(); ++axis) {
    auto& size = *shape.add_dim();
    const auto fromEnd = static_cast<int64_t>(axis) - static_cast<int64_t>(cut.shape.size());
    // Other axes are those of batches and sequences, which may have other sizes.
    if (std::ranges::find(cut.axes, fromEnd) != cut.axes.end()) size.set_dim_value(cut.shape[axis]);
  }
}

// The parts of the graph that a slice needs, in their order, and all its inputs.
void keep(const Slice& slice, GraphProto& graph) {
  std::unordered_set<const NodeProto*> needed;
  for (const int node : slice.nodes) needed.insert(&graph.node(node));
  keepOnly(*graph.mutable_node(), [&](const NodeProto& node) { return needed.contains(&node); });
  const auto isRead = [&](const auto& named) { return slice.names.contains(named.name()); };
  std::unordered_set<std::string> unread;  // an input of that name has a value no more
  for (const TensorProto& tensor : graph.initializer()) {
    if (!isRead(tensor)) unread.insert(tensor.name());
  }
  keepOnly(*graph.mutable_initializer(), isRead);
  keepOnly(*graph.mutable_input(), [&](const auto& input) { return !unread.contains(input.name()); });
  keepOnly(*graph.mutable_sparse_initializer(),
           [&](const auto& sparse) { return slice.names.contains(sparse.values().name()); });
  keepOnly(*graph.mutable_value_info(), isRead);
}

// Those that are edited and not in memory are computed for this section alone.
Result<Weights> weightsOf(const OnnxSource& source, const GraphProto& graph, const Task& task) {
  Weights weights;
  for (const TensorProto& tensor : graph.initializer()) {
    const auto held = source.weights->find(tensor.name());
    if (held == source.weights->end()) continue;
    Weight weight = held->second;
    const std::span<const std::byte> bytes(weight.view.data, static_cast<size_t>(graph::byteCount(weight.view)));
    if (const auto part = source.pending ? source.pending->partAt(bytes) : std::nullopt) {
      const FreshTensor fresh = freshTensor(weight.view.dtype, weight.view.shape);
      auto status = part->weight->compute({fresh.bytes, bytes.size()}, hardwareThreads());
      if (status) status = task.check();
      if (!status) return tl::unexpected(std::move(status.error()));
      weight.view = fresh.view;
    }
    weights.emplace(tensor.name(), std::move(weight));
  }
  return weights;
}

class SectionMaker {
 public:
  SectionMaker(const OnnxSource& part, const std::vector<Cut>& cuts)
      : cuts_(cuts), edited_(part), opset_(edited_.opset(edited_.main())) {}

  // The value given at a cut gets the cut's own name.
  void begin(const std::set<size_t>& at) {
    for (const size_t i : at) {
      const Cut& cut = cuts_[i];
      NodeMaker nodes(edited_.main(), opset_, cut.value, nullptr);
      const std::string given = EditableModel::freshName(edited_.main(), cut.value + "_given");
      declare(*edited_.proto().mutable_graph()->add_input(), given, cut);
      if (cut.centeredIn) {
        nodes.add("Sub", {given, nodes.mean(given, cut.axes)}, cut.value);
      } else {
        nodes.add("Identity", {given}, cut.value);
      }
      moveAside(cut.value);
      edited_.addBehind(edited_.main(), nullptr, nodes.take());
    }
  }

  void end(const Names& outputs, const GraphProto& whole) {
    GraphProto& graph = *edited_.proto().mutable_graph();
    graph.clear_output();
    for (const std::string& output : outputs) {
      const auto cut = std::ranges::find(cuts_, output, &Cut::value);
      if (cut == cuts_.end()) {
        *graph.add_output() = *std::ranges::find(whole.output(), output, [](const auto& info) { return info.name(); });
      } else {
        declare(*graph.add_output(), cut->centeredOut ? centered(*cut) : output, *cut);
      }
    }
  }

  EditableModel& edited() { return edited_; }

 private:
  // A node that the section needs for another of its outputs may make what is cut as well.
  void moveAside(const std::string& cut) {
    const auto made = edited_.main().madeBy.find(cut);
    if (made == edited_.main().madeBy.end()) return;
    for (std::string& output : *made->second->mutable_output()) {
      if (output == cut) output = EditableModel::freshName(edited_.main(), cut + "_unread");
    }
  }

  std::string centered(const Cut& cut) {
    NodeMaker nodes(edited_.main(), opset_, cut.value, nullptr);
    std::string name = nodes.add("Sub", {cut.value, nodes.mean(cut.value, cut.axes)});
    edited_.addBefore(edited_.main(), nullptr, nodes.take());
    return name;
  }

  const std::vector<Cut>& cuts_;
  EditableModel edited_;
  int opset_;
};

}  // namespace

Result<std::vector<Names>> sectionsAt(const GraphProto& graph, const std::vector<Cut>& cuts) {
  const Slicer slicer(graph, cuts);
  std::vector<Names> sections;
  for (const Cut& cut : cuts) {
    if (!slicer.makes(cut.value)) return notCut(cut.value);
    sections.push_back({cut.value});
  }
  std::map<std::set<size_t>, Names> byCuts;
  for (const auto& output : graph.output()) {
    const bool given = std::ranges::any_of(graph.input(), [&](const auto& in) { return in.name() == output.name(); });
    if (!slicer.makes(output.name()) && !given) return notCut(output.name());  // a constant, which an edit may be of
    if (given) continue;
    byCuts[slicer.behind({output.name()}).cuts].push_back(output.name());
  }
  for (auto& [at, outputs] : byCuts) sections.push_back(std::move(outputs));
  return sections;
}

Result<OnnxSource> section(const OnnxSource& source, const std::vector<Cut>& cuts, const Names& outputs,
                           std::set<size_t>& begins, const Task& task) {
  const GraphProto& whole = source.skeleton->graph();
  const Slicer slicer(whole, cuts);
  for (const std::string& output : outputs) {
    if (!slicer.makes(output)) return notCut(output);
  }
  const Slice slice = slicer.behind(outputs);
  begins.insert(slice.cuts.begin(), slice.cuts.end());
  try {
    auto skeleton = std::make_shared<ModelProto>(*source.skeleton);
    keep(slice, *skeleton->mutable_graph());
    ASSIGN_OR_RETURN(auto weights, weightsOf(source, skeleton->graph(), task));
    OnnxSource part = source;
    part.skeleton = std::move(skeleton);
    part.weights = std::make_shared<const Weights>(std::move(weights));
    part.pending = nullptr;
    SectionMaker maker(part, cuts);
    maker.begin(begins);
    maker.end(outputs, whole);
    maker.edited().finishNodes();
    part.skeleton = maker.edited().finish();
    part.weights = maker.edited().takeWeights();
    return part;
  } catch (...) {
    return tl::unexpected(editError("a section cannot be made of the model"));
  }
}

}  // namespace normlens::formats::onnx
