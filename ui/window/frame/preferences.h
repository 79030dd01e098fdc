// What the user chose once for all models. Kept in QSettings; value type.
#pragma once

#include <QString>

#include "ui/theme/theme.h"

namespace normlens::ui {

struct Preferences {
  ColorScheme scheme = ColorScheme::FollowDesktop;
  int fontPixels = kBaseFontPixels;
  int digits = 4;                          // significant digits of numbers in the inspector
  QString device = QStringLiteral("cpu");  // "cpu", "cuda": where measurements start out
  QString engineCommand;                   // as on a command line; empty: the engine beside the window
  int autosaveSeconds = 30;                // of a project; 0: never
  int timeLimitSeconds = 0;                // that a run of a model may take; 0: the engine's own limits
  int memoryLimitGb = 0;                   // that a model may take; the same

  bool operator==(const Preferences&) const = default;
};

inline constexpr int kLeastFontPixels = 11, kMostFontPixels = 18;
inline constexpr int kMostTimeLimitSeconds = 86'400, kMostMemoryLimitGb = 4096;
inline constexpr int kLeastDigits = 2, kMostDigits = 17;

[[nodiscard]] constexpr int64_t bytesOf(int gigabytes) { return int64_t{gigabytes} << 30; }

[[nodiscard]] Preferences preferencesFromSettings();  // values out of range become the nearest
void savePreferences(const Preferences& preferences);

}  // namespace normlens::ui
