// A weight as edits leave it, described by its sources: nothing of it is computed before somebody wants its bytes.
//
// Edits follow one another: what an edit starts from is a weight of the file, or an edited one; that is then computed
// whole for as long as the later edit's blocks live. Thread: immutable; blocks as in blocks.h.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "core/base/result.h"
#include "core/fold/blocks.h"
#include "core/graph/types.h"
#include "core/ops/pattern.h"

namespace normlens::fold {

class EditedWeight;

struct CenteredWeight;

struct WeightSource {
  graph::TensorView view;                          // Describes the result of the edits, without data.
  std::shared_ptr<const EditedWeight> edited{};    // null: as the file has it
  std::shared_ptr<const CenteredWeight> center{};  // where its last edit was to center it

  // In fresh memory where it is edited.
  [[nodiscard]] Result<graph::TensorView> inMemory(int threads) const;
};

struct CenteredWeight {
  WeightSource from;
  ops::Pattern pattern;
};

class EditedWeight {
 public:
  using Opener = std::function<Result<Blocks>(int threads)>;
  // result: type, shape and strides; its data are not looked at. origins: the weights of the file that it is computed
  // from.
  EditedWeight(const graph::TensorView& result, std::vector<graph::TensorView> origins, Opener open);

  // Type, shape and strides; no data.
  [[nodiscard]] const graph::TensorView& view() const { return view_; }
  [[nodiscard]] const std::vector<graph::TensorView>& origins() const { return origins_; }
  // Reads what lies across blocks, the means of columns for one. Errors: see blocks.h.
  [[nodiscard]] Result<Blocks> open(int threads) const { return open_(threads); }
  // All of it; `out` is as large as it is.
  [[nodiscard]] Status compute(std::span<std::byte> out, int threads) const;

 private:
  graph::TensorView view_;
  std::vector<graph::TensorView> origins_;
  Opener open_;
};

[[nodiscard]] WeightSource center(const WeightSource& weight, const ops::Pattern& pattern);
// Weights whose k-th groups form one group, see jointMeans.
struct JointPart {
  WeightSource weight;
  ops::Pattern pattern;
};
[[nodiscard]] std::vector<WeightSource> centerJointly(const std::vector<JointPart>& parts);
[[nodiscard]] WeightSource scale(const WeightSource& weight, ChannelScale scale);
// bias + W vector, `inputDim` the axis of W that is summed.
[[nodiscard]] WeightSource shift(const WeightSource& bias, const WeightSource& weight, int inputDim,
                                 std::vector<double> vector);

// In the basis of a narrow stream, see blocks.h; that centers it anyway, so it is not centered, and rounded, before.
[[nodiscard]] WeightSource narrow(const WeightSource& weight, Narrowing how);

}  // namespace normlens::fold
