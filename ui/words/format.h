// Numbers as the window writes them.
#pragma once

#include <QDate>
#include <QString>
#include <cstdint>
#include <string>
#include <vector>

namespace normlens::ui {

[[nodiscard]] QString formatBytes(int64_t bytes);                              // "498 MB", decimal units
[[nodiscard]] QString formatDate(const QDate& date);                           // "Nov 25, 2026"
[[nodiscard]] QString formatError(double value);                               // "4e-16", "0.31"; "0" when exactly zero
[[nodiscard]] QString formatMilliseconds(double ms);                           // "420 µs", "1.80 s"
[[nodiscard]] QString formatMicroseconds(double us);                           // "0.3 µs", "1.20 ms"
[[nodiscard]] QString formatMicroseconds(double us, double low, double high);  // "52.1 µs (49.0–55.3)"
[[nodiscard]] double shownMicroseconds(double us);              // the number that formatMicroseconds() writes
[[nodiscard]] QString formatRatio(double ratio);                // "1.06×"
[[nodiscard]] QString formatInterval(double low, double high);  // "1.03–1.07"
// "1.05× (1.03–1.07)"; where the interval touches 1.00: "no clear gain · 1.01× (1.00–1.01)"
[[nodiscard]] QString formatSpeedup(double ratio, double low, double high);
[[nodiscard]] QString formatPercent(double share);                     // "4.7%", "12%"
[[nodiscard]] QString formatShape(const std::vector<int64_t>& shape);  // "1×1024×768"; "scalar" for no axes
[[nodiscard]] QString formatNumber(double value, int digits = 4);      // significant digits, "1e-5"
[[nodiscard]] QString formatCount(int64_t count);                      // thousands apart
// "3 of 5"; "3 of 5, 2 unknown"
[[nodiscard]] QString formatShare(int count, int all, int unknown = 0);
// "transformer.h.3.ln_2" -> "h.3.ln_2": the last `parts` parts, as many as carry meaning.
[[nodiscard]] QString shortName(const QString& path, int parts = 3);
// The engine writes for a terminal: "check the path" -> "Check the path." A first word that is a name stays as it is.
[[nodiscard]] QString asSentence(const QString& words);
// Two letters without width: no line breaks at the first, and one may at the second.
inline constexpr QChar kWordJoiner(0x2060), kBreakHere(0x200b);
// Puts them into the names of a sentence: one of up to so many letters stays on one line ("layer.1.norm"), a longer one
// may break behind its dots, underscores and strokes.
[[nodiscard]] QString withNameBreaks(const QString& sentence, qsizetype longest = 32);
[[nodiscard]] QString nameList(const std::vector<std::string>& names);  // "ids, mask"
// "package.pt2 · encode": the file's name, and the model's in one that holds several.
[[nodiscard]] QString modelTitle(const QString& path, const QString& model);
// Longer than any path, it ends in "…": a stranger's file may hold texts of megabytes, and a label takes time for each
// letter.
[[nodiscard]] QString text(const std::string& utf8);

}  // namespace normlens::ui
