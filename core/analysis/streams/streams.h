// CRMSNorm as a transform: the edits that take a channel out of a plan's residual streams. Source: paper 003;
// docs/method.md 9.
//
// A stream is what residual adds connect: from linears, tables and constants to norms that the plan folds. All of it is
// zero-mean after the plan's edits, which the claims prove, so in another basis it needs a channel less, where nothing
// but those norms reads it. A norm whose output goes into linears alone, by way of ops that leave every channel at its
// place, normalizes the narrow vector, and the linears take gamma and the basis in; any other norm gets all channels
// back first.
//
// Thread: pure functions of an immutable analysis.
#pragma once

#include <string>
#include <vector>

#include "core/analysis/analysis.h"
#include "core/fold/stream_edits.h"

namespace normlens::analysis {

// Names what a narrow stream is widened to, with zeros: nothing, an even number of channels, a multiple of 64.
enum class StreamPadding : uint8_t { None, Even, Blocks };
[[nodiscard]] std::optional<StreamPadding> streamPaddingFromName(std::string_view name);

struct Stream {
  fold::Channels channels;
  std::vector<int> norms;  // that read it, ascending
  int restored = 0;        // Of these, so many get all channels back first.
  int adds = 0;            // residual ones
  int cuts = 0;            // values that are narrowed at run time, no weight being in the way
  std::string refused;     // why it stays as it is, a clause that follows "because"; empty: it is narrowed
};

struct StreamPlan {
  std::vector<Stream> streams;  // by the first norm that reads them
  fold::StreamEdits edits;      // Narrow all streams that can be narrowed.
  std::string refused;          // one plain sentence where no stream is narrowed
};

// `plan`: makePlan's, of this analysis.
[[nodiscard]] StreamPlan planStreams(const Analysis& analysis, const Plan& plan, StreamPadding padding);

// The plan with these edits: a norm that works on the narrow stream becomes an RMSNorm of its width.
[[nodiscard]] fold::FoldPlan narrowed(const Plan& plan, fold::StreamEdits edits);

}  // namespace normlens::analysis
