// Holds what the user chose once for all models. Kept in QSettings; value type.
#pragma once

#include <QString>
#include <vector>

#include "ui/theme/theme.h"

namespace normlens::ui {

// A command that starts an engine elsewhere, under the name that the user gave it.
struct Connection {
  QString name, command;

  bool operator==(const Connection&) const = default;
};

struct Preferences {
  ColorScheme scheme = ColorScheme::FollowDesktop;
  int fontPixels = kBaseFontPixels;
  int digits = 4;                          // significant digits of numbers in the inspector
  QString device = QStringLiteral("cpu");  // "cpu", "cuda": where measurements start out
  QString engineCommand;                   // as on a command line; empty: the engine beside the window
  std::vector<Connection> connections;     // that were saved; names are unique
  int autosaveSeconds = 30;                // Projects are saved as often; 0: never.
  int timeLimitSeconds = 0;                // that a run of a model may take; 0: the engine's own limits
  int memoryLimitGb = 0;                   // that a model may take; the same

  bool operator==(const Preferences&) const = default;
};

// The whole numbers among them: where they are kept, and what they may be.
struct PreferenceNumber {
  const char* key;
  int Preferences::*field;
  int least, most;
};
inline constexpr PreferenceNumber kPreferenceNumbers[] = {
    {"window/font", &Preferences::fontPixels, 11, 18},
    {"numbers/digits", &Preferences::digits, 2, 17},
    {"projects/autosave", &Preferences::autosaveSeconds, 0, 3600},
    {"engine/time_limit", &Preferences::timeLimitSeconds, 0, 86'400},
    {"engine/memory_limit", &Preferences::memoryLimitGb, 0, 4096},
};

[[nodiscard]] constexpr int64_t bytesOf(int gigabytes) { return int64_t{gigabytes} << 30; }

[[nodiscard]] Preferences preferencesFromSettings();  // values out of range become the nearest
void savePreferences(const Preferences& preferences);

}  // namespace normlens::ui
