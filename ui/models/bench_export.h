// Measurements as text to take along. Thread: GUI thread.
#pragma once

#include <QString>
#include <optional>

#include "core/protocol/bench_messages.h"
#include "ui/words/paper_figures.h"

namespace normlens::ui {

// One row for each point, for other programs: plain numbers with a decimal point whatever the locale, times in
// milliseconds and sizes in bytes, empty where there is no figure. As in RFC 4180.
[[nodiscard]] QString benchCsv(const protocol::BenchResult& result, const std::optional<PaperSeries>& paper);

// Returns the notes below a table of it: where and with what it was measured, and why points failed or are doubtful.
[[nodiscard]] QString benchNotes(const protocol::BenchResult& result, const std::optional<PaperSeries>& paper);

}  // namespace normlens::ui
