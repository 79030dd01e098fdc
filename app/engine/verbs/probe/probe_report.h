// What the verb `probe` says: its JSON object (DESIGN section 4; field names are stable), its lines of text, its table.
// Thread: pure functions.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/protocol/difference_messages.h"
#include "core/protocol/probe_messages.h"

namespace normlens::engine {

struct ProbeOutcome {
  protocol::ProbeResult before;
  std::vector<std::optional<protocol::ForcedError>>
      effects;                                 // by row: an RMSNorm in its place, as it is; of LayerNorms
  std::optional<protocol::ForcedError> all;    // in the places of all of them; where there are several
  std::optional<protocol::ProbeResult> after;  // of the fold, where it was asked for
  int64_t seed = 0;
};

// What would notice if this one LayerNorm became an RMSNorm as it is: "nothing" where the outputs change by no more
// than rounding, "hardly" where by less than 3 %, else "yes"; empty where that is not known.
[[nodiscard]] std::string wouldNotice(const std::optional<protocol::ForcedError>& effect);

// norms: name, kind, input, output, random, swap, after ...
[[nodiscard]] nlohmann::json probeReport(const ProbeOutcome& outcome);
// For a person: a table, and what it says.
[[nodiscard]] std::vector<std::string> probeLines(const ProbeOutcome& outcome);
// For a spreadsheet: a row for each norm, numbers in full.
[[nodiscard]] std::string probeCsv(const ProbeOutcome& outcome);

}  // namespace normlens::engine
