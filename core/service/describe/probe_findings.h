// What the geometry probe's figures say, in sentences made of them: told by the window and by the command line alike.
// Without full stops. Thread: pure functions.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/protocol/probe_messages.h"

namespace normlens::service {

// Of the vectors: how near to a right angle they are, how much of them is mean, and whether the control is as it must
// be.
[[nodiscard]] std::vector<std::string> angleFindings(const std::vector<protocol::ProbeRow>& rows);

// See ProbeSwap::notices; empty where there is no figure.
[[nodiscard]] std::string wouldNotice(const protocol::ForcedError& swap, double hardly);
// Of what has been measured.
[[nodiscard]] std::vector<std::string> swapFindings(const protocol::ProbeSwaps& swaps);

}  // namespace normlens::service
