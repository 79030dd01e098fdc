// The command line as data, of which packaging/write_pages.py makes the manual page and the completions of shells.
// Thread: pure functions.
#pragma once

#include <CLI/CLI.hpp>

#include <nlohmann/json.hpp>

namespace normlens::engine {

// Returns the name, summary, group, footer and options of a command line, and the same of each of its verbs.
[[nodiscard]] nlohmann::json commandTable(const CLI::App& app);

}  // namespace normlens::engine
