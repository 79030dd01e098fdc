// Two models on the same inputs: every output, the input and output of every LayerNorm of the first with those of its
// partner in the second, and values that the caller picks. Over several batches the worst case of each is kept.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/analysis/norms/norms.h"
#include "core/graph/types.h"
#include "core/run/compare/diff.h"
#include "core/run/compare/sites.h"
#include "core/run/compare/ulp.h"

namespace normlens::run {

// Checks whether two models would choose the same: the largest entries along the last axis of an output like logits. A
// row is what lies along the last axis. Its top k are the k largest entries, of equal ones those that come first; NaN
// counts as the smallest.
inline constexpr int64_t kTopMany = 5;

struct TopAgreement {
  int64_t rows = 0;
  int64_t sameFirst = 0;   // rows whose largest entry is at the same place
  int64_t sharedMany = 0;  // over all rows, how many of the top 5 of one are among the top 5 of the other
  bool hasMany = false;    // rows are longer than 5; else sharedMany means nothing

  [[nodiscard]] double first() const { return share(sameFirst, rows); }             // top-1 agreement, 0 to 1
  [[nodiscard]] double many() const { return share(sharedMany, rows * kTopMany); }  // top-5 agreement, 0 to 1
  void add(const TopAgreement& other);

 private:
  [[nodiscard]] static double share(int64_t part, int64_t all) {
    return all > 0 ? static_cast<double>(part) / static_cast<double>(all) : 1;
  }
};

// nullopt: not like logits (no real floating type, no axis, rows of one entry, no rows), or the shapes differ.
[[nodiscard]] std::optional<TopAgreement> topAgreement(const graph::TensorView& a, const graph::TensorView& b);

struct DiffRow {
  SiteKind kind = SiteKind::Output;
  std::string name;  // Names the output, the norm or the value.
  int norm = -1;     // index of the LayerNorm
  graph::ValueId value = graph::kNoValue;
  int output = -1;  // index among the outputs
  int step = 0, depth = 0;
  graph::Shape shape;
  graph::DType dtype = graph::DType::Unknown;  // The type of the first model's tensor.
  Alignment alignment = Alignment::None;
  int batch = 0;  // in which the tensors are farthest apart by max_rel; all but `top` is of that batch
  TensorDiff diff;
  std::optional<UlpHistogram> ulps;  // in the coarser of the two types; nullopt where it is no real floating one
  // The error of the first model itself: max_rel of its tensor here against the one of DiffOptions::reference.
  std::optional<double> rounding;
  std::optional<TopAgreement> top;  // Set for outputs like logits, over all batches.
};

struct ModelDiff {
  std::vector<DiffRow> rows;   // by step: norms and values; then the outputs, in their order
  std::string firstDiverging;  // first norm whose output has max_rel above the limit
  std::string normsReason;     // why only the outputs were compared; empty otherwise
  int batches = 0;             // that the first model ran
};

struct DiffOptions {
  // The first model's float64 copy, for DiffRow::rounding; of one in float64, a perturbed copy. nullptr: not wanted.
  // Costs a run or two per batch.
  const formats::Model* reference = nullptr;
  std::vector<graph::ValueId> values;  // Values of the first model that are to be compared as well.
  std::optional<double> limit;      // above which a norm diverges; nullopt: divergenceLimit() of the first model's type
  formats::RunSettings settings{};  // the device of both models; the reference runs on the CPU
};

// `batches`: the first one has to run, others are left out where the first model refuses them (an id out of range).
// Errors: either model fails, their outputs do not fit each other, Cancelled. Thread: one thread per model.
[[nodiscard]] Result<ModelDiff> diffModels(const formats::Model& a, const std::vector<analysis::LayerNorm>& normsOfA,
                                           const formats::Model& b, const std::vector<formats::Tensors>& batches,
                                           const DiffOptions& options, const Task& task);

// The first norm of `a` whose output has max_rel above the limit on these inputs; empty: none, or they were not
// compared.
[[nodiscard]] std::string firstDiverging(const formats::Model& a, const std::vector<analysis::LayerNorm>& normsOfA,
                                         const formats::Model& b, const formats::Tensors& inputs, double limit,
                                         const Task& task);

// The sample and count - 1 others of its kind, seeded. Error: those of drawLike().
[[nodiscard]] Result<std::vector<formats::Tensors>> batchesLike(const formats::Tensors& sample, int count,
                                                                uint64_t seed);

// The tensors behind one row on one batch, made comparable as in the row. Errors: either model fails; BadInput where
// the place is not reached or nothing fits it.
struct RowPlace {
  int output = -1;  // an output; else the value, as a norm's input or output or by itself
  SiteKind kind = SiteKind::Output;
  graph::ValueId value = graph::kNoValue;
};
[[nodiscard]] Result<SitePair> tensorsAt(const formats::Model& a, const std::vector<analysis::LayerNorm>& normsOfA,
                                         const formats::Model& b, const formats::Tensors& batch, const RowPlace& place,
                                         const Task& task);

struct ModelPair {
  std::shared_ptr<const formats::Model> a, b;
  double limit = 0;  // a norm of theirs counts as diverging above this by default
};
// Both models in one floating type; Unknown: as they are. A model that needs no copy must outlive the pair. The limit
// is of the coarsest type: in a wider one than the files' the weights are still rounded as in them.
[[nodiscard]] Result<ModelPair> inType(const formats::Model& a, const formats::Model& b, graph::DType dtype);

// 256 machine epsilons, at most 0.05.
[[nodiscard]] double divergenceLimit(graph::DType dtype);

// Returns a sentence about the figures of a pair where they are not about the type itself, or "".
[[nodiscard]] std::string typeNote(const ModelPair& pair);

}  // namespace normlens::run
