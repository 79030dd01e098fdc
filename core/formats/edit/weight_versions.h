// The tensors of a fold: what each read of a constant gets, in plain memory. Where a file then holds them is its
// format's business (place_weights.h).
//
// A constant starts with one version that all its reads share. An edit of all reads changes every version; an edit of
// some splits those off into a version of their own. Centerings wait until something needs their result, so that
// finish() sweeps over many tensors at once.
// Thread: one, with a worker per processor for the arithmetic. Errors: throws EditRefused, std::bad_alloc.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "core/fold/plan.h"
#include "core/graph/graph.h"

namespace normlens::formats {

struct WeightVersion {
  graph::Uses uses;
  graph::TensorView view;  // the file's own until it is changed; then fold::outputStrides() of that
  bool changed = false;
  bool keptForOthers = false;  // for readers that the graph does not show: never changed
  bool waiting = false;        // a centering of it is queued
};

// Which version a place holds that many reads share, wanted[v] of them the v-th, some at least: the original where one
// wants that, else what most want.
[[nodiscard]] size_t versionToHold(const std::vector<WeightVersion>& versions, const std::vector<size_t>& wanted);

class WeightVersions {
 public:
  // Asked when a constant is first edited: whether readers outside the graph keep the original. May throw EditRefused.
  using ReadElsewhere = std::function<bool(graph::ConstantId)>;
  // `graph` outlives this object.
  WeightVersions(const graph::Graph& graph, ReadElsewhere readElsewhere);

  // All edits of the plan that change tensors, in its order; the others are passed over.
  void add(const fold::FoldPlan& plan);

  // Those with a changed version.
  [[nodiscard]] const std::map<graph::ConstantId, std::vector<WeightVersion>>& changed() const { return versions_; }

 private:
  struct Ref {
    graph::ConstantId constant = graph::kNone;
    size_t version = 0;
  };
  struct Waiting {
    Ref ref;
    ops::Pattern pattern;
  };

  void scale(const fold::AbsorbScale& edit);
  void center(const fold::CenterConstant& edit);
  void absorb(const std::vector<const fold::AbsorbShift*>& edits);
  std::vector<WeightVersion>& versionsOf(graph::ConstantId constant);
  WeightVersion& at(const Ref& ref) { return versionsOf(ref.constant)[ref.version]; }
  // The versions that an edit of these reads (null: of all) changes, split off where needed.
  std::vector<Ref> versionsFor(graph::ConstantId constant, const graph::Uses* only);
  // What this read has by now; nothing waits.
  graph::TensorView viewFor(graph::ConstantId constant, const graph::Use& use);
  void queue(const Ref& ref, const ops::Pattern& pattern);
  void flush();
  std::vector<graph::TensorView> viewsOf(const std::vector<Ref>& refs);
  void give(const Ref& ref, std::shared_ptr<std::byte> memory);

  const graph::Graph& graph_;
  int threads_;
  ReadElsewhere readElsewhere_;
  std::vector<graph::ValueId> values_;  // by constant
  std::map<graph::ConstantId, std::vector<WeightVersion>> versions_;
  std::vector<Waiting> waiting_;
};

}  // namespace normlens::formats
