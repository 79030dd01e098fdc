// Residual streams that lose a channel (paper 003, Pre-CRMSNorm): what there is of them, and a model written with it.
// See messages.h for the rules, docs/crms.md for what is done.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/protocol/messages.h"

namespace normlens::protocol {

// ---- streams: StreamParams -> StreamReport. Planned only: nothing is made.
struct StreamParams {
  PlanParams plan;
  std::string padding = "none";  // none, even, 64: what a narrow stream is widened to with zeros
};
NORMLENS_FIELDS(StreamParams, plan, padding)

struct StreamInfo {
  int64_t channels = 0;  // d
  int64_t width = 0;     // The narrow stream's; d where it stays.
  IndexRanges norms;     // that read it
  int restored = 0;      // Of these, so many get all channels back first.
  int adds = 0;          // residual ones
  int cuts = 0;          // values that are narrowed at run time
  std::string refused;   // why it stays, a clause that follows "because"; empty: it is narrowed
};
NORMLENS_FIELDS(StreamInfo, channels, width, norms, restored, adds, cuts, refused)

// The same figure for the original, for the fold alone, and for the narrow model; of one pass on the inputs.
struct StreamFigures {
  double original = 0, fold = 0, narrow = 0;
};
NORMLENS_FIELDS(StreamFigures, original, fold, narrow)

struct StreamReport {
  std::vector<StreamInfo> streams;
  StreamFigures norm_flops;    // Counts the norms that read narrow streams.
  StreamFigures linear_flops;  // Counts the linears that write or read them.
  StreamFigures stream_bytes, weight_bytes;
  std::string reason;  // why no stream is narrowed, a sentence; empty: some are, and the figures are known
};
NORMLENS_FIELDS(StreamReport, streams, norm_flops, linear_flops, stream_bytes, weight_bytes, reason)

// ---- narrow: NarrowParams -> NarrowResult. Made, proved and written; the last fold is left alone.
struct NarrowParams {
  StreamParams streams;
  std::string norm = "portable";  // Replaces norms that get all channels back; fast: a kernel for narrow ones too.
  std::string path;
  bool force = false;  // written although it is not proved
};
NORMLENS_FIELDS(NarrowParams, streams, norm, path, force)

struct NarrowResult {
  StreamReport streams;
  std::vector<SizeCondition> holds_if;  // as FoldResult has it
  std::optional<VerifyResult> verify;
  std::optional<ExportResult> written;
  std::string reason;  // why nothing was written; empty: it was, and is proved
  double narrow_ms = 0;
};
NORMLENS_FIELDS(NarrowResult, streams, holds_if, verify, written, reason, narrow_ms)

}  // namespace normlens::protocol
