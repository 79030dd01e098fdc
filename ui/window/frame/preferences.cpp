#include "ui/window/frame/preferences.h"

#include <QSettings>

namespace normlens::ui {

namespace {

constexpr QLatin1String kConnections("engine/connections"), kName("name"), kCommand("command");

}  // namespace

Preferences preferencesFromSettings() {
  QSettings settings;
  Preferences chosen;
  for (const auto& [key, field, least, most] : kPreferenceNumbers) {
    chosen.*field = qBound(least, settings.value(QLatin1String(key), chosen.*field).toInt(), most);
  }
  chosen.scheme = colorSchemeFromName(settings.value(QStringLiteral("window/theme")).toString());
  const QString device = settings.value(QStringLiteral("engine/device")).toString();
  if (device == QLatin1String("cuda")) chosen.device = device;
  chosen.engineCommand = settings.value(QStringLiteral("engine/command")).toString();
  const int connections = settings.beginReadArray(kConnections);
  for (int i = 0; i < connections; ++i) {
    settings.setArrayIndex(i);
    chosen.connections.push_back({settings.value(kName).toString(), settings.value(kCommand).toString()});
  }
  settings.endArray();
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
  settings.remove(kConnections);
  settings.beginWriteArray(kConnections, static_cast<int>(preferences.connections.size()));
  for (int i = 0; const auto& [name, command] : preferences.connections) {
    settings.setArrayIndex(i++);
    settings.setValue(kName, name);
    settings.setValue(kCommand, command);
  }
  settings.endArray();
}

}  // namespace normlens::ui
