// Formats the results of the verb `probe`: its JSON object (field names are stable), its lines of text, its table.
// Thread: pure functions.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/protocol/probe_messages.h"

namespace normlens::engine {

struct ProbeOutcome {
  protocol::ProbeResult before;
  protocol::ProbeSwaps swaps;
  std::optional<protocol::ProbeResult> after;  // of the fold, where it was requested
  int64_t seed = 0;
};

// norms: name, kind, input, output, random, swap, after ...; findings: sentences
[[nodiscard]] nlohmann::json probeReport(const ProbeOutcome& outcome);
// Returns lines for a person: a table, and its findings.
[[nodiscard]] std::vector<std::string> probeLines(const ProbeOutcome& outcome);
// Returns a table for a spreadsheet: a row for each norm, numbers in full.
[[nodiscard]] std::string probeCsv(const ProbeOutcome& outcome);

}  // namespace normlens::engine
