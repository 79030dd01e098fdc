// The weights of a fold: which tensor each read gets, and how the copied module holds it. Private to
// formats/torchscript: includes torch.
//
// A constant starts with one version that all its reads share. An edit of all reads changes every version; an edit of
// some splits those off into a version of their own. At the end each place that holds the constant (attribute or
// graph constant) gets the version that its reads want; reads that want another one than their place holds are
// redirected to a new attribute.
// Thread: one. Errors: throws EditRefused, std::bad_alloc, c10::Error.
#pragma once

#include <map>
#include <vector>

#include "core/base/task.h"
#include "core/fold/center.h"
#include "core/fold/plan.h"
#include "core/formats/torchscript/apply_variants.h"
#include "core/formats/torchscript/torchscript_model.h"

namespace normlens::formats::torchscript {

class WeightEdits {
 public:
  WeightEdits(const TorchScriptModel& model, const OtherEntries& others, int threads);

  // In the plan's order.
  void scale(const fold::AbsorbScale& edit);
  void center(const fold::CenterConstant& edit);

  // Computes what is left to compute and says what the copy differs in.
  void finish(FrameEdits& frames, EditsByInstance& instances);

 private:
  struct Version {
    std::vector<graph::Use> uses;
    at::Tensor tensor;
    bool changed = false;
    bool keptForOthers = false;  // methods besides forward read it: never changed
    bool waiting = false;        // a centering of it is queued
  };
  struct VersionRef {
    graph::ConstantId constant = graph::kNone;
    size_t version = 0;
  };
  struct Waiting {
    VersionRef version;
    ops::Pattern pattern;
  };
  // Where one read gets its constant from.
  struct Read {
    graph::Use use;
    size_t version = 0;
    OperandSite site;
    int constantSite = kNone;  // index in ConstantTensor::sites; kNone: not known
  };

  std::vector<Version>& versionsOf(graph::ConstantId constant);
  Version& at(const VersionRef& ref) { return versionsOf(ref.constant)[ref.version]; }
  [[nodiscard]] graph::ValueId valueOf(graph::ConstantId constant) const;
  // The versions that an edit of these reads changes, split off where needed.
  std::vector<VersionRef> versionsFor(graph::ConstantId constant, const std::vector<graph::Use>* only);
  void queue(const VersionRef& version, const ops::Pattern& pattern);
  void flush();
  void replaceTensor(const VersionRef& version, at::Tensor tensor);

  [[nodiscard]] std::vector<Read> readsOf(graph::ConstantId constant);
  [[nodiscard]] OperandSite siteOf(const graph::Use& use) const;
  [[nodiscard]] int programValueAt(const graph::Use& use, const OperandSite& site) const;
  void place(graph::ConstantId constant, FrameEdits& frames, EditsByInstance& instances);
  size_t versionAtSite(const std::vector<Version>& versions, const std::vector<Read>& reads, int site,
                       bool readElsewhere) const;
  void setSite(const TensorSite& site, const at::Tensor& tensor, FrameEdits& frames, EditsByInstance& instances);
  void redirect(const Read& read, const std::vector<Read>& all, const TensorSite& site, const at::Tensor& tensor,
                FrameEdits& frames, EditsByInstance& instances);
  [[nodiscard]] std::vector<OperandSite> chainOf(OperandSite site) const;
  std::string attributeFor(const ObjectPtr& self, const TensorSite& site, const at::Tensor& tensor,
                           EditsByInstance& instances);

  const TorchScriptModel& model_;
  const OtherEntries& others_;
  int threads_;
  std::vector<graph::ValueId> values_;  // by constant
  std::map<graph::ConstantId, std::vector<Version>> versions_;
  std::vector<Waiting> waiting_;
  std::map<std::pair<const torch::jit::Node*, int>, int> programNodes_;  // (node, frame) -> program node
  std::set<std::tuple<int, const torch::jit::Node*, int>> redirected_;
  std::map<std::pair<const c10::ivalue::Object*, const at::TensorImpl*>, std::string> newAttributes_;
};

}  // namespace normlens::formats::torchscript
