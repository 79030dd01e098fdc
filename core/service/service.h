// The facade over the engine: the command line and the worker process both call it. One open model at a time.
//
// Parameters and results are protocol structs, so that JSON on the command line and on the wire are the same thing.
// Nothing here prints, exits or uses JSON. Thread: one thread at a time; long calls take a Task for progress and
// cancelling, and leave the service as it was when they are cancelled or fail.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/base/task.h"
#include "core/formats/model.h"
#include "core/formats/open_choice.h"
#include "core/protocol/difference_messages.h"
#include "core/protocol/lesson_messages.h"
#include "core/protocol/messages.h"
#include "core/protocol/probe_messages.h"
#include "core/protocol/stream_messages.h"
#include "core/protocol/weight_messages.h"
#include "core/run/geometry/norm_range.h"
#include "core/service/bench.h"
#include "core/service/inputs/model_inputs.h"
#include "core/service/judge_fold.h"
#include "core/service/narrow_streams.h"

namespace normlens::service {

// RunRules limit what may be done with a stranger's model.
struct RunRules {
  Error notRun;  // why it is not run, which analyze() returns as its probe_error; no message: it may be
  formats::OpenChoice opening{};

  // Returns the rules for a file that is compared with the open model's.
  [[nodiscard]] RunRules beside() const {
    RunRules rules = *this;
    rules.opening.isBeside = true;
    return rules;
  }
};

// The last fold with its model, as open(), analyze() and fold() return them.
struct ToldFold {
  protocol::ModelInfo info;
  protocol::Analysis analysis;
  protocol::FoldResult fold;
  std::string norm;  // its flavour
  InputChoice inputs;
};

// FoldTimes are the durations of the parts of a fold, for the command line's JSON.
struct FoldTimes {
  double load_ms = 0;
  double analysis_ms = 0;
  double fold_ms = 0;  // analysis, planning, centering, rewriting
  double save_ms = 0;
};

// Returns whether a folded copy of `model` may be called `out`: the suffixes are equal, or the format uses either.
[[nodiscard]] bool suffixFits(const std::filesystem::path& model, const std::filesystem::path& out);

class Service {
 public:
  Service();
  ~Service();
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  // Reads the file: structure only. Replaces the open model when it succeeds. model: where the file holds several, the
  // one of this name; empty: as the rules choose.
  [[nodiscard]] Result<protocol::ModelInfo> open(const std::filesystem::path& path, const Task& task,
                                                 const std::string& model = {});
  // Reads another file, or the folded model, as open() would return it; the open model stays.
  [[nodiscard]] Result<protocol::ModelInfo> readGraph(const protocol::ReadGraphParams& params, const Task& task) const;
  [[nodiscard]] Result<protocol::WeightDigests> weightDigests(const protocol::WeightDigestsParams& params,
                                                              const Task& task) const;
  [[nodiscard]] Result<protocol::WeightChanges> weightChanges(const protocol::WeightChangesParams& params,
                                                              const Task& task) const;
  // These are checked when they are used.
  void setInputs(InputChoice inputs);
  // The same, checked now and returned as they will be; refused, the choice before stays.
  [[nodiscard]] Result<protocol::InputsInfo> chooseInputs(const protocol::InputsParams& params);
  // Applies to this model and to models opened later.
  void setRules(RunRules rules) { rules_ = std::move(rules); }
  // Probe run and analysis. A model that cannot be run is analyzed without shapes, with the cause in probe_error.
  // Early: by inferred shapes where a run takes long; fold() makes up for the run.
  [[nodiscard]] Result<protocol::Analysis> analyze(const Task& task, const protocol::AnalyzeParams& params = {});
  [[nodiscard]] Result<protocol::ZeroMeanGraph> zeroMeanGraph(const protocol::NormParams& params) const;
  [[nodiscard]] Result<protocol::ZeroMeanMap> zeroMeanMap(const protocol::PlanParams& params, const Task& task);
  [[nodiscard]] Result<protocol::ShiftCone> shiftCone(const protocol::ShiftConeParams& params, const Task& task);
  [[nodiscard]] Result<protocol::PlanInfo> plan(const protocol::PlanParams& params, const Task& task);
  [[nodiscard]] Result<protocol::NormPrices> normPrices(const protocol::BenchParams& params, const Task& task);
  [[nodiscard]] Result<protocol::CenterPreview> previewCenter(const protocol::CenterParams& params) const;
  // Call it early before an export of the open model: what an export needs of the source is then found while the model
  // is analyzed.
  void expectExport();
  // Plans, applies and (if requested) proves. The folded model is kept for exportTo and bench.
  [[nodiscard]] Result<protocol::FoldResult> fold(const protocol::FoldParams& params, const Task& task);
  [[nodiscard]] Result<ToldFold> lastFold() const;
  // Writes the fold. If it was not proved, large weights are read here for the first time. Refused where one holds what
  // has no mean; the next fold() leaves it out.
  // Lists what runs a file of the open model's format. Error: no model is open.
  [[nodiscard]] Result<protocol::Targets> targets() const;
  [[nodiscard]] Result<protocol::ExportResult> exportTo(const protocol::ExportParams& params, const Task& task);
  // A fold whose residual streams lose a channel, see narrow_streams.h; the last fold is left alone.
  [[nodiscard]] Result<Narrowing> narrowStreams(const protocol::PlanParams& params, const NarrowOptions& options,
                                                const Task& task);
  // The same planned only, and the same written to a file where it is proved. No run: shapes are those of the analysis.
  [[nodiscard]] Result<protocol::StreamReport> streams(const protocol::StreamParams& params, const Task& task);
  [[nodiscard]] Result<protocol::NarrowResult> writeNarrow(const protocol::NarrowParams& params, const Task& task);
  // The original, the last fold or the model of a file against another of them; see bench.h.
  [[nodiscard]] Result<protocol::BenchResult> bench(const protocol::BenchParams& params, const BenchListener& listener,
                                                    const Task& task);
  // The open model against the last fold, whether it was proved or not, or against a file. See differences.h.
  [[nodiscard]] Result<protocol::DiffResult> diff(const protocol::DiffParams& params, const Task& task);
  // The geometry of the norms of the open model, of the last fold, or of its plan with narrow streams, on the inputs.
  [[nodiscard]] Result<protocol::ProbeResult> probe(const protocol::ProbeParams& params, const Task& task);
  // Replaces LayerNorms by RMSNorms as they are and compares the outputs. See service_views.cpp.
  [[nodiscard]] Result<protocol::ProbeSwaps> probeSwaps(const protocol::ProbeSwapsParams& params, const Task& task);
  // One norm folded whatever its verdict, the last fold left alone. See forced_error.h.
  [[nodiscard]] Result<protocol::ForcedError> forcedError(const protocol::ForcedErrorParams& params, const Task& task);
  // See lessons/.
  [[nodiscard]] Result<protocol::PartialCentering> partialCentering(const protocol::PartialCenteringParams& params,
                                                                    const Task& task);
  [[nodiscard]] Result<protocol::CenteringCut> centeringCut(const protocol::CenteringCutParams& params,
                                                            const Task& task);
  [[nodiscard]] Result<protocol::TensorPair> tensorPair(const protocol::TensorPairParams& params, const Task& task);
  [[nodiscard]] Result<protocol::TensorStats> tensorStats(const protocol::TensorParams& params, const Task& task);
  [[nodiscard]] Result<protocol::SavedTensor> saveTensor(const protocol::SaveTensorParams& params,
                                                         const Task& task) const;

  // Judges another file as a fold of the open model: see judge_fold.h. Errors: it cannot be opened, and those there.
  [[nodiscard]] Result<JudgedFold> judgeFold(const std::string& path, const Task& task) const;

  // Returns how large the squares are that each norm takes, in the open model and in its last fold, on the model's
  // inputs; none where neither the target (--for; may be empty) nor the model takes squares in float16. Errors: nothing
  // has been folded yet, either model fails.
  [[nodiscard]] Result<std::vector<run::NormRange>> normRanges(std::string_view target, const Task& task) const;

  // A plan from a file (--plan) instead of the planner's own; it must be for the open model's file.
  [[nodiscard]] Status usePlanFile(const std::filesystem::path& path);
  // Returns the plan of the last fold, as usePlanFile() takes it.
  [[nodiscard]] Result<std::string> planText() const;
  // The same as a file; never over the open model, and complete or not at all.
  [[nodiscard]] Status savePlanFile(const std::filesystem::path& path) const;

  // Returns the SHA-256 of the open model, as Model::fileHash has it; empty where no model is open.
  [[nodiscard]] std::string sourceSha256() const;
  // Its XXH3, which goes by its contents; empty where it cannot be read any more. Error: no model is open.
  [[nodiscard]] Result<protocol::SourceHash> sourceHash(const Task& task) const;
  [[nodiscard]] const formats::Model* model() const;
  // Returns the inputs that the last analyze() ran the model with.
  [[nodiscard]] const formats::Tensors& inputs() const;
  [[nodiscard]] FoldTimes times() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
  RunRules rules_;
};

}  // namespace normlens::service
