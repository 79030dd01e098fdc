// The tensors of a fold: what each read of a constant gets, in plain memory. Where a file then holds them is its
// format's business (place_weights.h).
//
// A constant starts with one version that all its reads share. An edit of all reads changes every version; an edit of
// some splits those off into a version of their own. Small tensors are computed at once; large ones stay pending
// (pending_weights.h): their views have an address, and nothing can be read there yet.
// Thread: one, with a worker per processor for the arithmetic. Errors: throws EditRefused, std::bad_alloc.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "core/fold/pending_weights.h"
#include "core/fold/plan.h"
#include "core/formats/edit/opened_files.h"
#include "core/graph/graph.h"

namespace normlens::formats {

struct WeightVersion {
  graph::Uses uses;  // that read elements; a shape query goes with any version of the shape
  fold::WeightSource source;
  graph::TensorView view;  // what a file or a run is to hold, once all edits are added; strides: fold::outputStrides()
  bool keptForOthers = false;  // for readers that the graph does not show: never changed

  [[nodiscard]] bool changed() const { return source.edited != nullptr; }
};

// Returns which version a place holds that many reads share, wanted[v] of them the v-th, some at least: the original
// where one needs that, else what most need.
[[nodiscard]] size_t versionToHold(const std::vector<WeightVersion>& versions, const std::vector<size_t>& wanted);

class WeightVersions {
 public:
  // Called at a constant's first edit: whether readers outside the graph keep the original. May throw EditRefused.
  using ReadElsewhere = std::function<bool(graph::ConstantId)>;
  // `graph` outlives this object. files: those that its weights lie in.
  WeightVersions(const graph::Graph& graph, OpenedFiles files, ReadElsewhere readElsewhere);

  // All edits of the plan that change tensors, in its order; the others are passed over.
  void add(const fold::FoldPlan& plan);

  // Those with a changed version.
  [[nodiscard]] const std::map<graph::ConstantId, std::vector<WeightVersion>>& changed() const { return versions_; }
  // Returns the weights that are not computed yet; null where everything is.
  [[nodiscard]] const std::shared_ptr<fold::PendingWeights>& pending() const { return pending_; }

 private:
  void scale(const fold::AbsorbScale& edit);
  void center(const fold::CenterConstant& edit);
  void absorb(const fold::AbsorbShift& edit);
  void absorb(const fold::AbsorbGain& edit);
  // Last: the edits before are of weights as the file has them.
  void narrow(const fold::StreamEdits& streams);
  std::vector<double> factorOf(const fold::NarrowConstant& edit);
  std::vector<WeightVersion>& versionsOf(graph::ConstantId constant);
  // The versions that an edit of these reads (null: of all) changes, split off where needed; valid until the next call.
  std::vector<fold::WeightSource*> sourcesFor(graph::ConstantId constant, const graph::Uses* only);
  // Returns the numbers of the constant that the node reads there, as they are by now.
  std::vector<double> numbersOf(const graph::Use& read, const char* what);
  // Returns the source that this read has by now.
  const fold::WeightSource& sourceFor(graph::ConstantId constant, const graph::Use& use);
  void giveViews();

  const graph::Graph& graph_;
  OpenedFiles files_;
  int threads_;
  ReadElsewhere readElsewhere_;
  std::vector<graph::ValueId> values_;  // by constant
  std::map<graph::ConstantId, std::vector<WeightVersion>> versions_;
  std::shared_ptr<fold::PendingWeights> pending_;
};

}  // namespace normlens::formats
