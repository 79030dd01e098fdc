// The page about the last fold: for a pull request or a paper. As messages.h in every other respect.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/words/words.h"
#include "core/protocol/bench_messages.h"

namespace normlens::protocol {

// A drawing that the window made: the engine draws no graphs.
struct ReportPicture {
  std::string title;  // "Before"
  std::string alt;    // Describes the picture in words.
  std::string svg;    // refused where it holds more than shapes and text
};
NORMLENS_FIELDS(ReportPicture, title, alt, svg)

// ---- report: ReportParams -> Report. The page about the last fold, proved or not, compared once more with the
// original on the inputs that were set. The client writes the page to its file.
enum class ReportFormat : uint8_t { Html, Markdown };
NORMLENS_NAMES(ReportFormat, "html", "markdown")

struct ReportParams {
  std::string model;  // as the commands in it are to call the model
  ReportFormat format = ReportFormat::Html;
  std::vector<ReportPicture> pictures;  // Show the graph.
  std::optional<BenchResult> bench;     // The original against this fold; nullopt: it was not measured.
};
NORMLENS_FIELDS(ReportParams, model, format, pictures, bench)

struct Report {
  std::string text;  // the whole file
};
NORMLENS_FIELDS(Report, text)

}  // namespace normlens::protocol
