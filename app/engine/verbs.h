// The table of verbs: adding one is a row in verbs.cpp and a file.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <span>
#include <string_view>

#include "app/engine/console.h"

namespace normlens::engine {

// What a verb does once its options are parsed.
using RunVerb = std::function<Exit(Console& console, const std::stop_token& stop)>;

struct Verb {
  std::string_view name;
  std::string_view summary;
  RunVerb (*declare)(CLI::App& app);  // adds the verb's options; they live in what it returns
};

[[nodiscard]] std::span<const Verb> verbs();

// One per file; the rows of the table.
RunVerb declareAnalyze(CLI::App& app);
RunVerb declareFold(CLI::App& app);
RunVerb declareFuse(CLI::App& app);
RunVerb declareDiff(CLI::App& app);
RunVerb declareBench(CLI::App& app);
RunVerb declareServe(CLI::App& app);
RunVerb declareDoctor(CLI::App& app);

}  // namespace normlens::engine
