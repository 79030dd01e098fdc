// The charts of a measurement. Each is made anew from the figures, so that it can follow a measurement that runs.
// Thread: GUI thread.
#pragma once

#include <QChart>
#include <QString>
#include <memory>

#include "core/protocol/bench_messages.h"
#include "ui/theme/theme.h"
#include "ui/words/paper_figures.h"

namespace normlens::ui {

enum class BenchChart {
  Latency,       // medians over rounds, both models
  Distribution,  // histogram of all runs
  Speedup,       // over the sweep, with interval bars; a paper's figures and an earlier run beside it
  Ops,           // time in norms and in other ops
  BreakEven,     // time saved over runs, that of the fold counted
};

// Refers to what one chart draws. Nothing is owned; all outlive the call only.
struct BenchPicture {
  const protocol::BenchResult& result;
  int point = 0;                                   // the one that is looked at; the speed-up shows all
  const protocol::BenchResult* earlier = nullptr;  // laid over it
  const PaperSeries* paper = nullptr;
  const PaperFold* paperFold = nullptr;
};

// Returns why the chart would be empty, as a sentence; empty where it is not.
[[nodiscard]] QString whyEmpty(BenchChart kind, const BenchPicture& picture);
// Its series have names; the chart's object name is its kind. Precondition: whyEmpty() is empty.
[[nodiscard]] std::unique_ptr<QChart> makeBenchChart(BenchChart kind, const BenchPicture& picture, const Theme& theme);

// One per file: add series and axes to a styled chart.
void fillLatencyChart(QChart& chart, const BenchPicture& picture, const Theme& theme);
void fillDistributionChart(QChart& chart, const BenchPicture& picture, const Theme& theme);
void fillSpeedupChart(QChart& chart, const BenchPicture& picture, const Theme& theme);
void fillOpsChart(QChart& chart, const BenchPicture& picture, const Theme& theme);
void fillBreakEvenChart(QChart& chart, const BenchPicture& picture, const Theme& theme);

// The point of `picture` that is looked at; nullptr: there is none that was measured.
[[nodiscard]] const protocol::BenchPoint* pointOf(const BenchPicture& picture);
// The point of an earlier run that varies the same; its first measured one where nothing is varied; nullptr: none.
[[nodiscard]] const protocol::BenchPoint* sameEarlier(const BenchPicture& picture);

}  // namespace normlens::ui
