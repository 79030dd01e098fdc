// Facts are what a report is made of, as the engine found it. Thread: value types.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/engine/verbs/report/document.h"
#include "core/protocol/bench_messages.h"
#include "core/protocol/difference_messages.h"
#include "core/protocol/messages.h"
#include "core/protocol/report_messages.h"

namespace normlens::engine::report {

// A fold that lies in a file.
struct FoldedFile {
  std::string path;
  int layerNorms = 0;  // that it still has
  double limit = 0;    // above which an output of it counts as another one
};

struct Facts {
  std::string model;                     // as it was named
  std::string version, date, sha256;     // of the program; today; of the model's file
  std::vector<std::string> inputWords;   // of the command line, for the commands that do it again
  std::vector<std::string> policyWords;  // the same
  protocol::ModelInfo info;
  protocol::Analysis analysis;
  std::optional<FoldedFile> file;              // where one was given; else:
  std::optional<protocol::FoldResult> fold;    // the one that was made in memory, or why there is none
  std::string norm;                            // its flavour
  std::optional<protocol::ReportGraph> graph;  // from who can draw it, checked; the command line cannot
  std::string plan;                            // of it, as --plan takes it; empty: nothing was folded
  std::optional<protocol::DiffResult> exact;   // in float64; nullopt: nothing to compare
  std::optional<protocol::DiffResult> inType;  // as the files are
  std::optional<protocol::BenchResult> bench;
  std::string benchError;  // why it could not be measured
};

}  // namespace normlens::engine::report
