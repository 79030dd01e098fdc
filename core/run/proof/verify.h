// The proof of a fold, in two parts (docs/method.md 11).
//
// Algebra: the plan applied to a float64 copy of the original, against that copy, on the sample, random draws, other
// sizes and other values of inputs that are one whole number, with nothing computed in less than float64. Inputs of
// other sizes are draws as well: only what is wanting of those is drawn at the sample's sizes. Every row of every
// output, and of the folded norms' outputs, is judged by its own scale: it may be off by 1e-10, or by six times the
// copy's own noise there (its weights moved by up to half a unit in the last place).
// File: the folded model against the original in their own type, on the sample and one of those draws, row by row. A
// centered weight is off by one rounding, so the yardstick is the original's own error: how far it is, in its type,
// from the float64 run of the same stored weights, never below 4 machine epsilons. An original that is right in a row
// by luck refuses nothing: its error there is at least that of half as many rows of the output as the folded model is
// off by so much, and where the fold would be refused all the same, more draws are run, up to some 600 rows. A row
// passes where the folded model is at most 6 times as far from that run. The 4 epsilons are fewer, but not under one,
// where the original moves by less with its weights, moved by up to half a unit in the last place. An original that is
// off by a tenth of its numbers, and does not move so far with its weights, draws random ones: no more is excused,
// unless it is of a half type and as right in float32 as in float64. Where float64 is impossible (quantized weights,
// unknown ops) a half type's original is run in float32; where that is impossible as well, nothing is proved of a half
// type. Otherwise, where float64 is impossible or the file's own type, and for outputs that hold no floating-point
// number, the original's error is not known: the yardstick is how far it moves when each of its weights moves by up to
// half a unit in the last place, the worst of some copies; algebra.reason has the cause. Outputs without floating-point
// numbers (indices, empty lists) can agree by chance: in float64 the values that decide them are compared as well, and
// where nothing else was compared nothing is proved. Norms that reach the outputs only through steps, comparisons and
// indices (hidden_norms.h) are compared at their own outputs or before such a step, in float64 and in the file's type;
// where one cannot be, nothing is decided.
//
// Thread: one thread; the models are not used by another meanwhile. Stops at the next run when the task is cancelled.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/analysis/norms/norms.h"
#include "core/base/words/proof.h"
#include "core/formats/model.h"
#include "core/run/compare/diff.h"

namespace normlens::run {

struct VerifyOptions {
  formats::NormFlavour flavour = formats::NormFlavour::Portable;
  uint64_t seed = 1;
  int randomDraws = 2;      // beside the sample, in float64, of any size
  int perturbedCopies = 8;  // at most
  double algebraLimit = 1e-10;
  double floorFactor = 6;
  double floorEpsilons = 4;
  std::vector<std::vector<int>> freeAxes;  // by input, for other sizes; may be empty (see otherSizes)
  // Axes by input, from the last (1), on which the fold relies on size 1, or on there being none; may be empty.
  std::vector<std::vector<int>> ones;
  bool strictRanks = false;  // an input with another number of axes refutes a fold that gives something else for it
};

// FoldUnderTest is the fold to prove. References must outlive the call.
struct FoldUnderTest {
  const formats::Model& original;
  const formats::Model& folded;
  const fold::FoldPlan& plan;
  const std::vector<analysis::LayerNorm>& norms;  // The original's.
};

// The same of any change: what made `changed` of the original, for its float64 copy.
struct ChangeUnderTest {
  const formats::Model& original;
  const formats::Model& changed;
  std::function<Result<std::unique_ptr<formats::Model>>(const formats::Model& twin)> change;
  const std::vector<analysis::LayerNorm>& norms;  // The original's.
  std::vector<graph::ValueId> keptOutputs{};      // Outputs of norms that it changes, but not their outputs.
  // The outputs of other norms that it changes; nullopt: of all.
  std::optional<std::vector<graph::ValueId>> otherOutputs{};
};

// FromExact is how far models are from the original's float64 copy, relative as max_rel.
struct FromExact {
  double original = 0, folded = 0;
};

struct AlgebraOutcome {
  std::optional<Worst> worst;  // nullopt: not possible, see `reason`. Where it is refuted: of the row that refutes
  double limit = 0;            // Bounds worst->maxRel.
  std::string reason;          // also set where float64 was measured and something is wrong with it
  bool refuted = false;
  int runs = 0;              // input sets compared: none that the original refuses
  bool otherSize = false;    // some of them of another size
  bool ranksMatter = false;  // it differs on inputs with another number of axes, which the model takes, too
  bool telling = false;      // floating-point numbers of outputs, or what decides them, were compared
  std::string firstDiverging;
  bool blind = true;   // all outputs of all runs were equal bit for bit
  std::string unseen;  // a norm that the outputs hide and that could not be compared; empty: there is none
  std::vector<formats::Tensors> inputs;   // the sample, and the smallest of those that were drawn
  std::vector<formats::Tensors> outputs;  // what the original's float64 copy makes of each of them
  bool hasExact = false;                  // such a copy runs

  [[nodiscard]] bool passes() const { return worst && !refuted && reason.empty(); }
};

struct FileOutcome {
  std::optional<Worst> worst;  // nullopt: not possible, see `reason`. Of the output of the row that decides
  std::string reason;
  double noiseFloor = 0;                     // The deciding row's: the original's own error, or its substitute.
  ErrorFloor floor = ErrorFloor::Roundings;  // which of them
  double limit = 0;                          // Bounds errors->folded, else worst->maxRel.
  std::optional<FromExact> errors;           // That row's; nullopt: float64 was impossible, or nothing differs.
  std::vector<TensorDiff> outputs;           // The sample's, in the file's own type.
  bool passes = false;
  bool telling = false;  // floating-point numbers were compared
  std::string unseen;    // as of AlgebraOutcome
};

struct Verification {
  AlgebraOutcome algebra;
  FileOutcome file;
  graph::DType fileType = graph::DType::Unknown;
  std::optional<bool> exact;   // true proved, false refuted, nullopt not decided
  std::string firstDiverging;  // name of a LayerNorm; only where exact is false
  // Replaced norms in branches and loops that the sample did not take: no run shows anything about them.
  std::vector<std::string> notRun;
  std::optional<int> sections{};  // so many were proved one by one, and the whole was not run (section_proof.h)
};

// Errors: the task was cancelled, memory was wanting, or the sample cannot be drawn like (BadInput). An original that
// does not run leaves everything undecided; a folded model that fails where the original runs is refuted.
[[nodiscard]] Result<Verification> verifyFold(const FoldUnderTest& fold, const formats::Tensors& sample,
                                              const VerifyOptions& options, const Task& task);
// Alike; options.flavour is not read.
[[nodiscard]] Result<Verification> verifyChange(const ChangeUnderTest& change, const formats::Tensors& sample,
                                                const VerifyOptions& options, const Task& task);

}  // namespace normlens::run
