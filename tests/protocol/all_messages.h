// Every message struct of the protocol, for tests that walk them all.
#pragma once

#include <gtest/gtest.h>

#include "core/protocol/bench_messages.h"
#include "core/protocol/difference_messages.h"
#include "core/protocol/file_messages.h"
#include "core/protocol/lab_messages.h"
#include "core/protocol/lesson_messages.h"
#include "core/protocol/probe_messages.h"
#include "core/protocol/report_messages.h"
#include "core/protocol/stream_messages.h"
#include "core/protocol/weight_messages.h"

namespace normlens::protocol {

using AllMessages = ::testing::Types<
    NoParams, AnalyzeParams, InitializeParams, EngineInfo, GpuStep, GpuCheck, GraphNode, GraphValue, GraphScope,
    GraphDocument, OpenParams, ReadGraphParams, ModelInfo, SizeCondition, Blocker, NormInfo, OtherNormInfo, Totals,
    InputSpec, Analysis, NormParams, ZeroMeanVertex, ZeroMeanGraph, ZeroMeanMap, ShiftConeParams, ShiftCone, PlanParams,
    EditInfo, NormPrices, PlanWay, NormState, PlanInfo, CenterParams, CenterPreview, FoldParams, ErrorPair, FromExact,
    VerifyResult, FoldResult, TargetInfo, Targets, ExportParams, Overflow, ExportResult, BenchParams, LatencyStats,
    BenchResult, OpShare, BenchSide, BenchOutputs, BenchPoint, NormWork, FoldSpread, BenchMachine, BenchUpdate,
    TensorParams, TensorFigures, TensorStats, SaveTensorParams, SavedTensor, InputsParams, InputsInfo, Progress,
    DiffParams, DiffRow, DiffResult, ForcedErrorParams, ForcedError, TensorTile, TensorPairParams, TensorPair,
    WeightDigestsParams, WeightDigests, WeightChangesParams, WeightChange, WeightChanges, ProbeParams, SideAngles,
    RandomAngles, SwapError, AngleCounts, ProbeRow, ProbeResult, ProbeSwapsParams, ProbeSwap, ProbeSwaps, ReportPicture,
    ReportColor, ReportPlace, ReportGraph, ReportParams, Report, PartialCenteringParams, PartialCentering,
    CenteringCutParams, CutValue, CutNorm, CutPoint, CenteringCut, LabParams, LabUpdate, LabControl, StreamParams,
    StreamInfo, StreamFigures, StreamReport, NarrowParams, NarrowResult, ListFolderParams, FolderEntry, FolderList,
    SendChunkParams, SentSoFar, FetchChunkParams, FetchedChunk, lab::RunSettings, lab::RunRecord, lab::RunResult>;

}  // namespace normlens::protocol
