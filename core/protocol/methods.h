// The methods of the protocol. What a method takes and gives is part of its type: engine and window are checked against
// this list by the compiler.
#pragma once

#include <string_view>

#include "core/protocol/bench_messages.h"
#include "core/protocol/difference_messages.h"
#include "core/protocol/file_messages.h"
#include "core/protocol/lab_messages.h"
#include "core/protocol/lesson_messages.h"
#include "core/protocol/messages.h"
#include "core/protocol/probe_messages.h"
#include "core/protocol/report_messages.h"
#include "core/protocol/stream_messages.h"
#include "core/protocol/weight_messages.h"

namespace normlens::protocol {

// A Result of void is null.
template <class Params, class Result>
struct Method {
  std::string_view name;
  constexpr operator std::string_view() const { return name; }  // NOLINT(google-explicit-constructor): it is its name
};
template <class Params, class Result>
constexpr bool operator==(std::string_view name, const Method<Params, Result>& method) {
  return name == method.name;
}

}  // namespace normlens::protocol

namespace normlens::protocol::methods {

// Requests, window -> engine.
inline constexpr Method<InitializeParams, EngineInfo> kInitialize{"initialize"};  // first of all
inline constexpr Method<NoParams, GpuCheck> kCheckGpu{"check_gpu"};
inline constexpr Method<OpenParams, ModelInfo> kOpen{"open"};
inline constexpr Method<ReadGraphParams, ModelInfo> kReadGraph{"read_graph"};
inline constexpr Method<WeightDigestsParams, WeightDigests> kWeightDigests{"weight_digests"};
inline constexpr Method<WeightChangesParams, WeightChanges> kWeightChanges{"weight_changes"};
inline constexpr Method<AnalyzeParams, Analysis> kAnalyze{"analyze"};
inline constexpr Method<InputsParams, InputsInfo> kSetInputs{"set_inputs"};
inline constexpr Method<NormParams, ZeroMeanGraph> kZeroMeanGraph{"zero_mean_graph"};
inline constexpr Method<PlanParams, ZeroMeanMap> kZeroMeanMap{"zero_mean_map"};
inline constexpr Method<ShiftConeParams, ShiftCone> kShiftCone{"shift_cone"};
inline constexpr Method<PlanParams, PlanInfo> kPlan{"plan"};
inline constexpr Method<BenchParams, NormPrices> kNormPrices{"norm_prices"};  // of the params the device alone
inline constexpr Method<CenterParams, CenterPreview> kPreviewCenter{"preview_center"};
inline constexpr Method<FoldParams, FoldResult> kFold{"fold"};
inline constexpr Method<NoParams, SourceHash> kSourceHash{"source_hash"};
inline constexpr Method<NoParams, PlanText> kPlanText{"plan_text"};  // of the last fold
inline constexpr Method<NoParams, Targets> kTargets{"targets"};
inline constexpr Method<ExportParams, ExportResult> kExport{"export"};
inline constexpr Method<BenchParams, BenchResult> kBench{"bench"};
inline constexpr Method<TensorParams, TensorStats> kTensorStats{"tensor_stats"};
inline constexpr Method<SaveTensorParams, SavedTensor> kSaveTensor{"save_tensor"};
inline constexpr Method<DiffParams, DiffResult> kDiff{"diff"};
inline constexpr Method<ForcedErrorParams, ForcedError> kForcedError{"forced_error"};
inline constexpr Method<TensorPairParams, TensorPair> kTensorPair{"tensor_pair"};
inline constexpr Method<ProbeParams, ProbeResult> kProbe{"probe"};
inline constexpr Method<PartialCenteringParams, PartialCentering> kPartialCentering{"partial_centering"};
inline constexpr Method<CenteringCutParams, CenteringCut> kCenteringCut{"centering_cut"};
inline constexpr Method<ProbeSwapsParams, ProbeSwaps> kProbeSwaps{"probe_swaps"};
inline constexpr Method<ReportParams, Report> kReport{"report"};
inline constexpr Method<StreamParams, StreamReport> kStreams{"streams"};
inline constexpr Method<NarrowParams, NarrowResult> kNarrow{"narrow"};
inline constexpr Method<LabParams, lab::RunResult> kLab{"lab"};
inline constexpr Method<ListFolderParams, FolderList> kListFolder{"list_folder"};  // these at once, whatever runs
inline constexpr Method<SendChunkParams, SentSoFar> kSendChunk{"send_chunk"};
inline constexpr Method<FetchChunkParams, FetchedChunk> kFetchChunk{"fetch_chunk"};
inline constexpr Method<NoParams, void> kPing{"ping"};  // at once, whatever runs
inline constexpr Method<NoParams, void> kShutdown{"shutdown"};

// Notifications.
inline constexpr std::string_view kProgress = "$/progress";      // engine -> window: Progress
inline constexpr std::string_view kBenchUpdate = "$/bench";      // engine -> window: BenchUpdate
inline constexpr std::string_view kLabUpdate = "$/lab";          // engine -> window: LabUpdate
inline constexpr std::string_view kLabControl = "$/labControl";  // window -> engine: LabControl
inline constexpr std::string_view kCancel = "$/cancelRequest";   // window -> engine: {"id": n}

}  // namespace normlens::protocol::methods
