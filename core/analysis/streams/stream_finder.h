// Finds what belongs to the streams of a plan: which values would be narrow, where they begin and who reads them.
// Private to analysis/streams. Thread: pure.
#pragma once

#include <string>
#include <vector>

#include "core/analysis/analysis.h"

namespace normlens::analysis {

// Reads of a value whose channels are one of its axes.
struct ChannelReads {
  graph::ValueId value = graph::kNoValue;
  int axis = 0;
  graph::Uses uses;
};
struct ChannelAxis {
  graph::NodeId node = graph::kNone;
  int axis = 0;
};

struct FoundStream {
  int64_t channels = 0;
  std::vector<int> norms;               // ascending
  std::vector<ChannelReads> constants;  // it begins at these
  std::vector<ChannelReads> cuts;       // and at these values, computed by what cannot return a channel less
  std::vector<ChannelReads> normReads;  // by norm, as in `norms`
  std::vector<ChannelAxis> written;     // views and broadcasts whose result is part of it
  std::vector<ChannelReads> values;     // all that is computed of it; no uses
  int adds = 0;                         // They add two values of the stream.
  std::string refused;                  // a clause that follows "because"
};

// By their first norm. What no residual add is part of is no stream.
[[nodiscard]] std::vector<FoundStream> findStreams(const Analysis& analysis, const Plan& plan);

}  // namespace normlens::analysis
