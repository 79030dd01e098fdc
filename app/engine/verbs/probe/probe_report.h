// Formats the results of the verb `probe`: its JSON object (field names are stable), its lines of text, its table.
// Thread: pure functions.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/protocol/probe_messages.h"

namespace normlens::engine {

enum class DriftForm : uint8_t { Original, Fold, Crms };
NORMLENS_NAMES(DriftForm, "original", "fold", "crms")

// Drift is how much mean a form of the model has in front of each norm in a type: mean / rms of its input, the root of
// the mean share over the rows (003, open question 1). Equal steps of depth: the norms run in this order.
struct Drift {
  DriftForm form;
  std::string dtype;
  std::vector<std::optional<double>> meanToRms;  // by norm; none: no figure, or its stream has no channel for a mean
  std::string reason;                            // why there is none at all
  std::string note;                              // ProbeResult::note
};

struct ProbeOutcome {
  std::string model;  // its path
  protocol::ProbeResult before;
  protocol::ProbeSwaps swaps;
  std::optional<protocol::ProbeResult> after;  // of the fold, where it was requested
  std::vector<Drift> drift;
  int64_t seed = 0;
};

// `rows`: of this form, where they are the original's one for one.
[[nodiscard]] Drift driftOf(const ProbeOutcome& outcome, DriftForm form, const protocol::ProbeResult& rows);

// norms: name, kind, input, output, random, swap, after ...; findings: sentences
[[nodiscard]] nlohmann::json probeReport(const ProbeOutcome& outcome);
// Returns lines for a person: a table, and its findings.
[[nodiscard]] std::vector<std::string> probeLines(const ProbeOutcome& outcome);
// Returns a table for a spreadsheet: a row for each norm, numbers in full.
[[nodiscard]] std::string probeCsv(const ProbeOutcome& outcome);
// The same over a folder of models: a row for each model and norm; the JSON is in the form of probeReport().
[[nodiscard]] std::vector<std::string> checkpointLines(const std::vector<ProbeOutcome>& outcomes);
[[nodiscard]] std::string checkpointCsv(const std::vector<ProbeOutcome>& outcomes);

}  // namespace normlens::engine
