// The weights of a fold: which tensor each read gets, and where the copied model holds it. Private to formats/onnx.
//
// A constant starts with one version that all its reads share. An edit of all reads changes every version; an edit of
// some splits those off. At the end each place that holds the constant (initializer or Constant node) gets the version
// that its reads want, and reads that want another one are given a new tensor. Reads that the analysis does not know of
// (an operand that says nothing to it) keep what the file has.
// Thread: one, with `threads` workers for the arithmetic. Errors: throws EditRefused, std::bad_alloc.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <vector>

#include "core/fold/center.h"
#include "core/fold/plan.h"
#include "core/formats/onnx/editable_model.h"
#include "core/graph/graph.h"

namespace normlens::formats::onnx {

class WeightEdits {
 public:
  WeightEdits(const Lowered& lowered, EditableModel& model, int threads);

  // In the plan's order.
  void scale(const fold::AbsorbScale& edit);
  void center(const fold::CenterConstant& edit);
  // Computes what is left to compute and writes it into the model. Before any edit of the nodes.
  void finish();

 private:
  struct Version {
    std::vector<graph::Use> uses;
    graph::TensorView view;
    bool changed = false;
    bool waiting = false;  // a centering of it is queued
  };
  struct VersionRef {
    graph::ConstantId constant = graph::kNone;
    size_t version = 0;
  };
  struct Waiting {
    VersionRef version;
    ops::Pattern pattern;
  };
  struct Read {
    size_t version = 0;
    ReadSite site;
    Origin origin;
  };

  std::vector<Version>& versionsOf(graph::ConstantId constant);
  Version& at(const VersionRef& ref) { return versionsOf(ref.constant)[ref.version]; }
  std::vector<VersionRef> versionsFor(graph::ConstantId constant, const std::vector<graph::Use>* only);
  void queue(const VersionRef& version, const ops::Pattern& pattern);
  void flush();
  void give(const VersionRef& version, const std::shared_ptr<std::byte>& memory);

  void place(graph::ConstantId constant);
  [[nodiscard]] std::vector<Read> readsOf(graph::ConstantId constant);
  void placeAt(const std::vector<Read>& reads, const std::vector<Version>& versions);
  void set(const Origin& origin, const graph::TensorView& view);
  std::string addTensor(const Origin& origin, const graph::TensorView& view);
  void redirect(const Read& read, const std::vector<Read>& all, const std::string& name);

  const Lowered& lowered_;
  EditableModel& model_;
  int threads_;
  std::vector<graph::ValueId> values_;  // by constant
  std::map<graph::ConstantId, std::vector<Version>> versions_;
  std::vector<Waiting> waiting_;
};

}  // namespace normlens::formats::onnx
