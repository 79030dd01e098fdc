// Where the changed tensors of a fold go in the copied module. Private to formats/torchscript: includes torch.
//
// Each place that holds a constant (attribute or graph constant) gets the version that its reads want; reads that want
// another one than their place holds are redirected to a new attribute.
// Thread: one. Errors: throws EditRefused, c10::Error.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/formats/edit/weight_versions.h"
#include "core/formats/torchscript/edit/apply_variants.h"
#include "core/formats/torchscript/program/torchscript_model.h"

namespace normlens::formats::torchscript {

class WeightPlacement {
 public:
  WeightPlacement(const TorchScriptModel& model, const OtherEntries& others) : model_(model), others_(others) {}

  // Says what the copy differs in.
  void place(const WeightVersions& weights, FrameEdits& frames, EditsByInstance& instances);

 private:
  struct Version {
    const WeightVersion* weight;
    at::Tensor tensor;
  };
  // Where one read gets its constant from.
  struct Read {
    graph::Use use;
    size_t version = 0;
    OperandSite site;
    int constantSite = kNone;  // index in ConstantTensor::sites; kNone: not known
  };

  [[nodiscard]] std::vector<Version> tensorsOf(graph::ConstantId constant,
                                               const std::vector<WeightVersion>& versions) const;
  [[nodiscard]] const ConstantTensor& held(graph::ConstantId constant) const;
  [[nodiscard]] std::vector<Read> readsOf(const std::vector<Version>& versions);
  [[nodiscard]] OperandSite siteOf(const graph::Use& use) const;
  [[nodiscard]] int programValueAt(const graph::Use& use, const OperandSite& site) const;
  void placeOne(graph::ConstantId constant, const std::vector<WeightVersion>& weights, FrameEdits& frames,
                EditsByInstance& instances);
  [[nodiscard]] static size_t versionAtSite(const std::vector<WeightVersion>& versions, const std::vector<Read>& reads,
                                            int site, bool readElsewhere);
  void setSite(const TensorSite& site, const at::Tensor& tensor, FrameEdits& frames, EditsByInstance& instances);
  void redirect(const Read& read, const std::vector<Read>& all, const TensorSite& site, const at::Tensor& tensor,
                FrameEdits& frames, EditsByInstance& instances);
  [[nodiscard]] std::vector<OperandSite> chainOf(OperandSite site) const;
  std::string attributeFor(const ObjectPtr& self, const TensorSite& site, const at::Tensor& tensor,
                           EditsByInstance& instances);

  const TorchScriptModel& model_;
  const OtherEntries& others_;
  std::map<std::pair<const torch::jit::Node*, int>, int> programNodes_;  // (node, frame) -> program node
  std::set<std::tuple<int, const torch::jit::Node*, int>> redirected_;
  std::map<std::pair<const c10::ivalue::Object*, const at::TensorImpl*>, std::string> newAttributes_;
};

}  // namespace normlens::formats::torchscript
