// Writes the changed tensors of a fold into the copied model. Private to formats/onnx.
//
// Each place that holds a constant (initializer or Constant node) gets the version that its reads want, and reads that
// want another one are given a new tensor. Reads that the analysis does not cover (an operand that means nothing to it)
// keep what the file has.
// Thread: one. Errors: throws EditRefused.
#pragma once

#include <string>
#include <vector>

#include "core/formats/edit/weight_versions.h"
#include "core/formats/onnx/edit/editable_model.h"

namespace normlens::formats::onnx {

class WeightPlacement {
 public:
  WeightPlacement(const Lowered& lowered, EditableModel& model, const WeightVersions& weights)
      : lowered_(lowered), model_(model), weights_(weights) {}

  // Before any edit of the nodes.
  void place();

 private:
  struct Read {
    size_t version = 0;
    ReadSite site;
    Origin origin;
  };

  void placeOne(graph::ConstantId constant, const std::vector<WeightVersion>& versions);
  [[nodiscard]] std::vector<Read> readsOf(graph::ConstantId constant, const std::vector<WeightVersion>& versions);
  void placeAt(const std::vector<Read>& reads, const std::vector<WeightVersion>& versions);
  // Sets the sizes of the tensor of this name, and clears the shape that the body records for it elsewhere.
  static void setDims(const Origin& origin, const graph::Shape& shape);
  void set(const Origin& origin, const graph::TensorView& view);
  std::string addTensor(const Origin& origin, const graph::TensorView& view);
  void redirect(const Read& read, const std::vector<Read>& all, const std::string& name);

  // Returns the bytes of a view that the skeleton is to hold itself.
  [[nodiscard]] std::span<const std::byte> readable(const graph::TensorView& view);

  const Lowered& lowered_;
  EditableModel& model_;
  const WeightVersions& weights_;
};

}  // namespace normlens::formats::onnx
