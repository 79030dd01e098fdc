// The linears that read a norm of a narrow stream, where all that reads it are such. Private to analysis/streams.
// Thread: pure.
#pragma once

#include <optional>
#include <vector>

#include "core/analysis/norms/norms.h"
#include "core/analysis/plan/planner.h"
#include "core/analysis/streams/stream_finder.h"
#include "core/fold/stream_edits.h"

namespace normlens::analysis {

struct NormReaders {
  std::vector<fold::ReadNarrow> linears;  // `channels` is left open
  std::vector<ChannelAxis> written;       // views and broadcasts between the norm and them
  std::vector<ChannelReads> between;      // the norm's output, all up to them, and views of their weights; no uses
};

// nullopt where the norm's output has to have all its channels: something else reads it, a weight is computed at run
// time, or its beta cannot move (plan: what of it moves).
[[nodiscard]] std::optional<NormReaders> linearsBehind(const graph::Graph& graph, const LayerNorm& norm,
                                                       const Plan& plan);

}  // namespace normlens::analysis
