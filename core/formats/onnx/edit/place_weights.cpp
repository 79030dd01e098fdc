#include "core/formats/onnx/edit/place_weights.h"

#include <algorithm>

#include "core/formats/onnx/edit/node_maker.h"
#include "core/formats/onnx/tensors/tensor_store.h"

namespace normlens::formats::onnx {
namespace {

bool isConstantNode(const Origin& origin) {
  return origin.kind == Origin::Kind::Node && origin.node->op_type() == "Constant";
}

class WeightPlacement {
 public:
  WeightPlacement(const Lowered& lowered, EditableModel& model, const WeightVersions& weights)
      : lowered_(lowered), model_(model), weights_(weights) {}

  void place() {
    for (const auto& [constant, versions] : weights_.changed()) placeOne(constant, versions);
  }

 private:
  struct Read {
    size_t version = 0;
    ReadSite site;
    Origin origin;
  };

  std::vector<Read> readsOf(graph::ConstantId constant, const std::vector<WeightVersion>& versions) {
    std::vector<Read> reads;
    const auto& name = lowered_.graph.constant(constant).name;
    for (size_t v = 0; v < versions.size(); ++v) {
      for (const auto& use : versions[v].uses) {
        if (use.node == graph::kNone) {
          // An output of a body: not a read that can be given another tensor; it finds the original where that is.
          if (!versions[v].changed()) continue;
          throw EditRefused("the weight '" + name + "' is an output of a body as well");
        }
        const auto node = static_cast<size_t>(use.node);
        const int input = lowered_.operandSites[node].at(static_cast<size_t>(use.operand)).input;
        Read read{v, model_.at(lowered_.nodePath[node], input), {}};
        if (input < 0) {
          // In a body that nothing is known of: it finds the original as well.
          if (!versions[v].changed()) continue;
          throw EditRefused("a read of '" + name + "' has no place of its own in the file");
        }
        read.origin = EditableModel::originOf(*read.site.body, EditableModel::nameAt(read.site));
        if (read.origin.kind != Origin::Kind::Initializer && !isConstantNode(read.origin)) {
          throw EditRefused("a read of '" + name + "' gets it by way of another node");
        }
        reads.push_back(std::move(read));
      }
    }
    return reads;
  }

  std::span<const std::byte> readable(const graph::TensorView& view) {
    const Status computed = weights_.pending() ? weights_.pending()->compute(view.data) : Status();
    if (!computed) throw EditRefused(computed.error().message);
    return bytesOf(view);
  }

  void placeOne(graph::ConstantId constant, const std::vector<WeightVersion>& versions) {
    auto reads = readsOf(constant, versions);
    while (!reads.empty()) {
      const Origin first = reads[0].origin;
      const auto elsewhere = std::ranges::stable_partition(
          reads, [&](const Read& read) { return read.origin.body == first.body && read.origin.name == first.name; });
      placeAt({reads.begin(), elsewhere.begin()}, versions);
      reads.erase(reads.begin(), elsewhere.begin());
    }
  }

  // All reads of one place that holds the constant.
  void placeAt(const std::vector<Read>& reads, const std::vector<WeightVersion>& versions) {
    const Origin& origin = reads[0].origin;
    const auto inFile = model_.readsOf(*origin.body, origin.name);
    const bool readElsewhere = std::any_of(inFile.begin(), inFile.end(), [&](const ReadSite& site) {
      return std::none_of(reads.begin(), reads.end(), [&](const Read& read) { return read.site == site; });
    });
    for (const auto& a : reads) {
      for (const auto& b : reads) {
        if (a.site == b.site && a.version != b.version)
          throw EditRefused("one read of '" + origin.name + "' wants two tensors");
      }
    }
    std::vector<size_t> wanted(versions.size(), 0);
    for (const auto& read : reads) ++wanted[read.version];
    const size_t best = versionToHold(versions, wanted);
    const bool keeps = readElsewhere || !versions[best].changed();
    if (!keeps) set(origin, versions[best].view);
    std::map<size_t, std::string> names;
    for (const auto& read : reads) {
      if (!versions[read.version].changed() || (!keeps && read.version == best)) continue;
      auto& name = names[read.version];
      if (name.empty()) name = addTensor(origin, versions[read.version].view);
      redirect(read, reads, name);
    }
  }

  void setDims(const Origin& origin, const graph::Shape& shape) {
    GraphProto& graph = *origin.body->graph;
    TensorProto& tensor = *graph.mutable_initializer(origin.body->initializer.at(origin.name));
    if (std::ranges::equal(tensor.dims(), shape)) return;
    tensor.clear_dims();
    tensor.mutable_dims()->Add(shape.begin(), shape.end());
    for (auto* infos : {graph.mutable_input(), graph.mutable_value_info()}) {
      for (auto& info : *infos) {
        if (info.name() == origin.name) info.mutable_type()->mutable_tensor_type()->clear_shape();
      }
    }
  }

  void set(const Origin& origin, const graph::TensorView& view) {
    bool stored = false;
    if (origin.kind == Origin::Kind::Initializer) setDims(origin, view.shape);
    if (origin.kind == Origin::Kind::Node) {
      static_cast<void>(readable(view));
      stored = storeConstant(*origin.node, view);
    } else {
      auto weight = model_.weights().find(origin.name);
      if (origin.body == &model_.main() && weight != model_.weights().end()) {
        weight->second.view = view;
        weight->second.asOpened = false;
        return;
      }
      stored = storeTensor(*origin.body->graph->mutable_initializer(origin.body->initializer.at(origin.name)),
                           readable(view));
    }
    if (!stored) throw EditRefused("'" + origin.name + "' is stored in a way that NormLens does not write");
  }

  // Adds the tensor where the origin is, so that whatever can read that can read the new one.
  std::string addTensor(const Origin& origin, const graph::TensorView& view) {
    Body& body = *origin.body;
    const std::string name = EditableModel::freshName(body, origin.name + "_centered");
    // Before version 4 of the format an initializer is an input of the model too; a Constant node is not.
    const bool asInitializer = origin.kind == Origin::Kind::Initializer && model_.proto().ir_version() >= 4;
    if (!asInitializer) {
      model_.addBehind(body, nullptr, {constantNode(name, rawTensor(name, view.dtype, view.shape, readable(view)))});
      return name;
    }
    TensorProto& tensor = *body.graph->add_initializer();
    const auto held = model_.weights().find(origin.name);
    if (&body != &model_.main() || held == model_.weights().end()) {
      tensor = rawTensor(name, view.dtype, view.shape, readable(view));
      return name;
    }
    tensor = rawTensor(name, view.dtype, view.shape, {});
    tensor.clear_raw_data();
    tensor.set_data_location(TensorProto::EXTERNAL);
    Weight weight = held->second;
    weight.view = view;
    weight.asOpened = false;
    model_.weights()[name] = std::move(weight);
    return name;
  }

  void redirect(const Read& read, const std::vector<Read>& all, const std::string& name) {
    if (read.origin.calls.empty()) {
      model_.setInput(read.site, name);
      return;
    }
    // Handed on to functions: the outermost call gets another tensor, which all reads behind it then see.
    const ReadSite& call = read.origin.calls.back();
    if (EditableModel::nameAt(call) == name) return;
    Body& called = *model_.calledBy(*call.body, *call.node);
    for (const auto& site : model_.readsOf(called, called.graph->input(call.input).name())) {
      const bool agrees = std::any_of(all.begin(), all.end(), [&](const Read& other) {
        return other.site == site && other.version == read.version;
      });
      if (!agrees) throw EditRefused("'" + read.origin.name + "' is handed to a function that reads it in two ways");
    }
    model_.setInput(call, name);
  }

  const Lowered& lowered_;
  EditableModel& model_;
  const WeightVersions& weights_;
};

}  // namespace

void placeWeights(const Lowered& lowered, EditableModel& model, const WeightVersions& weights) {
  WeightPlacement(lowered, model, weights).place();
}

}  // namespace normlens::formats::onnx
