// Measurements as words and as JSON. Thread: GUI thread.
#pragma once

#include <QByteArray>
#include <QString>
#include <optional>

#include "core/protocol/bench_messages.h"

namespace normlens::ui {

// "seq 256 · float16"; "as given" where nothing is varied.
[[nodiscard]] QString pointName(const protocol::BenchPoint& point);
// The last part of a file's path; "original" and "folded" in the window's language.
[[nodiscard]] QString sideName(const std::string& model);
// "21:50, folded 1.06×, cpu"
[[nodiscard]] QString runName(const protocol::BenchResult& result);
// What a point varies as a number: its sequence length or batch size. nullopt: it varies something else, or more.
[[nodiscard]] std::optional<qint64> sizeOf(const protocol::BenchPoint& point, const QString& over);
// The two sides run in different runtimes.
[[nodiscard]] bool isMixed(const protocol::BenchPoint& point);

[[nodiscard]] QByteArray benchJson(const protocol::BenchResult& result);

}  // namespace normlens::ui
