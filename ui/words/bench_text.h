// Measurements as words and as JSON. Thread: GUI thread.
#pragma once

#include <QByteArray>
#include <QPair>
#include <QString>
#include <optional>

#include "core/protocol/bench_messages.h"

namespace normlens::ui {

// "seq 256 · float16"; "as given" where nothing is varied.
[[nodiscard]] QString pointName(const protocol::BenchPoint& point);
// The last part of a file's path; "original", "folded", "folded, fast" and "fused" in the window's language.
[[nodiscard]] QString sideName(const std::string& model);
// Names both sides (the second one empty where there is none), with more where their names are the same or their
// runtimes are not: "gpt2.pt, LibTorch".
[[nodiscard]] QPair<QString, QString> sideNames(const protocol::BenchPoint& point);
// "–" where it was not measured or is not known; the share of norms in percent.
[[nodiscard]] QString peakOf(const protocol::BenchSide& side);
[[nodiscard]] QString normShareOf(const protocol::BenchSide& side);
[[nodiscard]] QString tokensOf(const protocol::BenchSide& side);  // in a second
// Names the device of the first measured point, "CPU" or the GPU's name; empty where none was measured.
[[nodiscard]] QString deviceName(const protocol::BenchResult& result);
// The open model against a fold of it: what a measurement is of unless the user chose other models.
[[nodiscard]] bool isOfFold(const protocol::BenchPoint& point);
// "21:50, folded 1.06×, cpu"
[[nodiscard]] QString runName(const protocol::BenchResult& result);
// Returns the number that a point varies: its sequence length or batch size. nullopt: it varies something else, or
// more.
[[nodiscard]] std::optional<qint64> sizeOf(const protocol::BenchPoint& point, const QString& over);
[[nodiscard]] QString formatMedian(double ms);  // "2.197", "12.40": at most four digits
// The two sides run in different runtimes.
[[nodiscard]] bool isMixed(const protocol::BenchPoint& point);
// Returns what makes its figures doubtful, in sentences; empty: nothing.
[[nodiscard]] QString cautionOf(const protocol::BenchPoint& point);
// The fold is slower for the reason that torch's own RMSNorm on a CPU is made of several operations, where its
// LayerNorm is one kernel: another norm flavour would not be.
[[nodiscard]] bool losesToSeveralOps(const protocol::BenchPoint& point);

[[nodiscard]] QByteArray benchJson(const protocol::BenchResult& result);

}  // namespace normlens::ui
