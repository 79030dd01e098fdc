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

// A color of the drawings, "#rrggbb" or "#rrggbbaa", on a light page and on a dark one.
struct ReportColor {
  std::string light, dark;
};
NORMLENS_FIELDS(ReportColor, light, dark)

// A box of the drawings that shows LayerNorms: one, or those of a closed group.
struct ReportPlace {
  std::string title;       // the group's path; for one norm its own title is shown
  std::vector<int> norms;  // Index Analysis::norms.
  double x = 0, y = 0, width = 0, height = 0;
};
NORMLENS_FIELDS(ReportPlace, title, norms, x, y, width, height)

// Pictures of one layout: the places are those of each of them. A drawing calls color 3 "var(--g3)".
struct ReportGraph {
  double width = 0, height = 0;
  std::vector<ReportPicture> pictures;
  std::vector<ReportPlace> places;
  std::vector<ReportColor> colors;
};
NORMLENS_FIELDS(ReportGraph, width, height, pictures, places, colors)

// ---- report: ReportParams -> Report. The page about the last fold, proved or not, compared once more with the
// original on the inputs that were set. The client writes the page to its file.
enum class ReportFormat : uint8_t { Html, Markdown };
NORMLENS_NAMES(ReportFormat, "html", "markdown")

struct ReportParams {
  std::string model;  // as the commands in it are to call the model
  ReportFormat format = ReportFormat::Html;
  std::optional<ReportGraph> graph;  // nullopt: the page has no picture
  std::optional<BenchResult> bench;  // The original against this fold; nullopt: it was not measured.
};
NORMLENS_FIELDS(ReportParams, model, format, graph, bench)

struct Report {
  std::string text;  // the whole file
};
NORMLENS_FIELDS(Report, text)

}  // namespace normlens::protocol
