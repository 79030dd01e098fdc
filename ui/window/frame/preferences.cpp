#include "ui/window/frame/preferences.h"

#include <QSettings>

namespace normlens::ui {

Preferences preferencesFromSettings() {
  const QSettings settings;
  Preferences chosen;
  for (const auto& [key, field, least, most] : kPreferenceNumbers) {
    chosen.*field = qBound(least, settings.value(QLatin1String(key), chosen.*field).toInt(), most);
  }
  chosen.scheme = colorSchemeFromName(settings.value(QStringLiteral("window/theme")).toString());
  const QString device = settings.value(QStringLiteral("engine/device")).toString();
  if (device == QLatin1String("cuda")) chosen.device = device;
  chosen.engineCommand = settings.value(QStringLiteral("engine/command")).toString();
  return chosen;
}

void savePreferences(const Preferences& preferences) {
  QSettings settings;
  settings.setValue(QStringLiteral("window/theme"), colorSchemeName(preferences.scheme));
  for (const PreferenceNumber& number : kPreferenceNumbers) {
    settings.setValue(QLatin1String(number.key), preferences.*number.field);
  }
  settings.setValue(QStringLiteral("engine/device"), preferences.device);
  settings.setValue(QStringLiteral("engine/command"), preferences.engineCommand);
}

}  // namespace normlens::ui
