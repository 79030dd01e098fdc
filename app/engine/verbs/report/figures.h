// The report's charts as SVG: plain elements, whose colors are the page's classes (html_writer.cpp), with a title that
// describes what is seen. Thread: pure functions.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/engine/verbs/report/document.h"

namespace normlens::engine::report {

// The largest relative difference after each norm, on a logarithmic scale.
struct ProofChart {
  std::vector<std::string> norms;                  // in execution order
  std::vector<std::optional<double>> exact, file;  // by norm: in float64, in the file's type; nullopt: not compared
  std::optional<double> exactLimit, fileLimit;     // that the outputs must not exceed
  std::string fileType;                            // "float32"
};
[[nodiscard]] Figure proofFigure(const ProofChart& chart);

// Draws the milliseconds of each round: the original and the folded model.
[[nodiscard]] Figure latencyFigure(const std::vector<std::pair<double, double>>& rounds);

}  // namespace normlens::engine::report
