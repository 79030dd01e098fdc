// Turns the geometry probe's figures into sentences without full stops, the same for the window and the command line.
// Thread: pure functions.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/protocol/probe_messages.h"
#include "core/run/geometry/probe_norms.h"

namespace normlens::service {

// Turns the geometry probe's findings into protocol structs.
[[nodiscard]] protocol::ProbeRow describeProbe(const run::NormGeometry& norm);

// Names the rows of a fold after the norms of the original that they replace: the k-th by the k-th. False where there
// are not as many; then nothing is changed but the indices, which are of no LayerNorm of the original.
[[nodiscard]] bool callLike(const std::vector<run::NormGeometry>& original, std::vector<protocol::ProbeRow>& rows);

// Describes the vectors: how near to a right angle they are, how much of them is mean, and whether the control is as it
// must be.
[[nodiscard]] std::vector<std::string> angleFindings(const std::vector<protocol::ProbeRow>& rows);

// See ProbeSwap::notices; nullopt where there is no figure.
[[nodiscard]] std::optional<protocol::Notices> wouldNotice(const protocol::ForcedError& swap, double hardly);
// Describes what has been measured.
[[nodiscard]] std::vector<std::string> swapFindings(const protocol::ProbeSwaps& swaps);

}  // namespace normlens::service
