// Turns the geometry probe's figures into sentences without full stops, the same for the window and the command line.
// Thread: pure functions.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/protocol/probe_messages.h"

namespace normlens::service {

// Describes the vectors: how near to a right angle they are, how much of them is mean, and whether the control is as it
// must be.
[[nodiscard]] std::vector<std::string> angleFindings(const std::vector<protocol::ProbeRow>& rows);

// See ProbeSwap::notices; empty where there is no figure.
[[nodiscard]] std::string wouldNotice(const protocol::ForcedError& swap, double hardly);
// Describes what has been measured.
[[nodiscard]] std::vector<std::string> swapFindings(const protocol::ProbeSwaps& swaps);

}  // namespace normlens::service
