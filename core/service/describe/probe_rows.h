// Turns the geometry probe's findings into protocol structs. Thread: pure functions.
#pragma once

#include <vector>

#include "core/protocol/probe_messages.h"
#include "core/run/geometry/probe_norms.h"

namespace normlens::service {

[[nodiscard]] protocol::ProbeRow describeProbe(const run::NormGeometry& norm);

// Names the rows of a fold after the norms of the original that they replace: the k-th by the k-th. False where there
// are not as many; then nothing is changed but the indices, which are of no LayerNorm of the original.
[[nodiscard]] bool callLike(const std::vector<run::NormGeometry>& original, std::vector<protocol::ProbeRow>& rows);

}  // namespace normlens::service
