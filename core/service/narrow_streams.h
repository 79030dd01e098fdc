// The verb crms: a fold whose residual streams lose a channel as well (paper 003, Pre-CRMSNorm), proved as a fold is.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/analysis/analysis.h"
#include "core/analysis/streams/streams.h"
#include "core/base/result.h"
#include "core/base/task.h"
#include "core/formats/model.h"
#include "core/formats/runner.h"
#include "core/protocol/messages.h"
#include "core/run/measure/statistics.h"
#include "core/run/proof/verify.h"

namespace normlens::service {

struct NarrowOptions {
  analysis::StreamPadding padding = analysis::StreamPadding::None;
  formats::NormFlavour flavour = formats::NormFlavour::Portable;
  bool verify = true;
  std::optional<formats::RunSettings> measureOn;  // time the original, the fold without the streams, and the result
};

// The work of the original, of the fold alone, and of the result; of one pass on the inputs. Norms' operations:
// run/measure/norm_work.h; a narrow norm takes 3 (d - 1) for a row, one that restores its row 3 d more than RMSNorm.
struct StreamWork {
  double normFlops[3] = {0, 0, 0};    // Counts the norms that read the streams.
  double linearFlops[3] = {0, 0, 0};  // Counts the linears that write or read the streams: 2 for each weight and row.
  int64_t streamBytes[3] = {0, 0, 0};
  int64_t weightBytes[3] = {0, 0, 0};  // Counts all constants.
};

// Two models timed in turns: times of different pairs lie apart in time, and a machine drifts.
struct TimedPair {
  double beforeMs = 0, afterMs = 0;  // medians of one pass
  run::Speedup speedup;
};

struct StreamTimes {
  TimedPair fold, result, overFold;  // the first two beside the original
};

struct Narrowing {
  analysis::Plan plan;  // The fold's.
  std::vector<analysis::Stream> streams;
  std::unique_ptr<formats::Model> model;  // nullptr where no stream is narrowed
  std::optional<protocol::VerifyResult> verify;
  StreamWork work;
  std::optional<StreamTimes> times;
  bool ok = false;     // proved, or not to be verified
  std::string reason;  // why not
  double ms = 0;       // planning, weights and code
};

// PlannedStreams are what would be done to a model, nothing of it made yet.
struct PlannedStreams {
  std::vector<analysis::Stream> streams;
  fold::FoldPlan edits;  // the plan's, and those of the narrow streams
  StreamWork work;       // where some stream is narrowed
  std::string refused;   // why none is; one plain sentence
};

// `plan`: makePlan's, of the analysis. Thread: pure.
[[nodiscard]] PlannedStreams planNarrowing(const analysis::Analysis& analysis, const analysis::Plan& plan,
                                           analysis::StreamPadding padding);

struct NarrowSource {
  const formats::Model& model;         // probed with the inputs
  const analysis::Analysis& analysis;  // The model's.
  const formats::Tensors& inputs;
};

// plan: makePlan's, of the analysis. Thread: one. Errors: Cancelled, those of apply() and of measurements.
[[nodiscard]] Result<Narrowing> narrowStreams(const NarrowSource& source, analysis::Plan plan,
                                              const NarrowOptions& options, const run::VerifyOptions& verify,
                                              const Task& task);

}  // namespace normlens::service
