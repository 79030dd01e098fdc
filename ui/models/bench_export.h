// Measurements as text to take along. Thread: GUI thread.
#pragma once

#include <QString>
#include <optional>

#include "core/protocol/bench_messages.h"
#include "ui/session/words/paper_figures.h"

namespace normlens::ui {

// One row for each point, for other programs: plain numbers with a decimal point whatever the locale, times in
// milliseconds and sizes in bytes, nothing where nothing is known. As in RFC 4180.
[[nodiscard]] QString benchCsv(const protocol::BenchResult& result, const std::optional<PaperSeries>& paper);

// What stands below a table of it: where and with what it was measured, and why points failed.
[[nodiscard]] QString benchNotes(const protocol::BenchResult& result, const std::optional<PaperSeries>& paper);

}  // namespace normlens::ui
