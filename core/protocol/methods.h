// Method names of the protocol. Structs of each: messages.h; those of bench: bench_messages.h.
#pragma once

#include <string_view>

namespace normlens::protocol::methods {

// Requests, window -> engine: params -> result.
inline constexpr std::string_view kInitialize = "initialize";          // InitializeParams -> EngineInfo, first of all
inline constexpr std::string_view kOpen = "open";                      // OpenParams -> ModelInfo
inline constexpr std::string_view kReadGraph = "read_graph";           // ReadGraphParams -> ModelInfo
inline constexpr std::string_view kWeightDigests = "weight_digests";   // WeightDigestsParams -> WeightDigests
inline constexpr std::string_view kAnalyze = "analyze";                // NoParams -> Analysis
inline constexpr std::string_view kSetInputs = "set_inputs";           // InputsParams -> InputsInfo
inline constexpr std::string_view kZeroMeanGraph = "zero_mean_graph";  // NormParams -> ZeroMeanGraph
inline constexpr std::string_view kZeroMeanMap = "zero_mean_map";      // PlanParams -> ZeroMeanMap
inline constexpr std::string_view kShiftCone = "shift_cone";           // ShiftConeParams -> ShiftCone
inline constexpr std::string_view kPlan = "plan";                      // PlanParams -> PlanInfo
inline constexpr std::string_view kPreviewCenter = "preview_center";   // CenterParams -> CenterPreview
inline constexpr std::string_view kFold = "fold";                      // FoldParams -> FoldResult
inline constexpr std::string_view kExport = "export";                  // ExportParams -> ExportResult
inline constexpr std::string_view kBench = "bench";                    // BenchParams -> BenchResult
inline constexpr std::string_view kTensorStats = "tensor_stats";       // TensorParams -> TensorStats
inline constexpr std::string_view kSaveTensor = "save_tensor";         // SaveTensorParams -> SavedTensor
inline constexpr std::string_view kPing = "ping";                      // NoParams -> null, at once, whatever runs
inline constexpr std::string_view kShutdown = "shutdown";              // NoParams -> null; the engine then ends

// Notifications.
inline constexpr std::string_view kProgress = "$/progress";     // engine -> window: Progress
inline constexpr std::string_view kBenchUpdate = "$/bench";     // engine -> window: BenchUpdate
inline constexpr std::string_view kCancel = "$/cancelRequest";  // window -> engine: {"id": n}

}  // namespace normlens::protocol::methods
