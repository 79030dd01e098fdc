#include "ui/window/frame/preferences.h"

#include <QSettings>

namespace normlens::ui {

Preferences preferencesFromSettings() {
  const QSettings settings;
  Preferences chosen;
  const auto number = [&](const char* key, int usual, int least, int most) {
    return qBound(least, settings.value(QLatin1String(key), usual).toInt(), most);
  };
  chosen.scheme = colorSchemeFromName(settings.value(QStringLiteral("window/theme")).toString());
  chosen.fontPixels = number("window/font", chosen.fontPixels, kLeastFontPixels, kMostFontPixels);
  chosen.digits = number("numbers/digits", chosen.digits, kLeastDigits, kMostDigits);
  const QString device = settings.value(QStringLiteral("engine/device")).toString();
  if (device == QLatin1String("cuda")) chosen.device = device;
  chosen.engineCommand = settings.value(QStringLiteral("engine/command")).toString();
  chosen.autosaveSeconds = number("projects/autosave", chosen.autosaveSeconds, 0, 3600);
  chosen.timeLimitSeconds = number("engine/time_limit", 0, 0, kMostTimeLimitSeconds);
  chosen.memoryLimitGb = number("engine/memory_limit", 0, 0, kMostMemoryLimitGb);
  return chosen;
}

void savePreferences(const Preferences& preferences) {
  QSettings settings;
  settings.setValue(QStringLiteral("window/theme"), colorSchemeName(preferences.scheme));
  settings.setValue(QStringLiteral("window/font"), preferences.fontPixels);
  settings.setValue(QStringLiteral("numbers/digits"), preferences.digits);
  settings.setValue(QStringLiteral("engine/device"), preferences.device);
  settings.setValue(QStringLiteral("engine/command"), preferences.engineCommand);
  settings.setValue(QStringLiteral("projects/autosave"), preferences.autosaveSeconds);
  settings.setValue(QStringLiteral("engine/time_limit"), preferences.timeLimitSeconds);
  settings.setValue(QStringLiteral("engine/memory_limit"), preferences.memoryLimitGb);
}

}  // namespace normlens::ui
