#include "ui/session/project/input_presets.h"

#include <QSettings>
#include <QStringList>
#include <QVector>

namespace normlens::ui {

namespace {

struct Preset {
  QString path, npz;
  QStringList specs, assume;
};

QStringList toQt(const std::vector<std::string>& texts) {
  QStringList list;
  for (const std::string& text : texts) list << QString::fromStdString(text);
  return list;
}

std::vector<std::string> fromQt(const QStringList& list) {
  std::vector<std::string> texts;
  for (const QString& text : list) texts.push_back(text.toStdString());
  return texts;
}

QVector<Preset> stored() {
  QSettings settings;
  QVector<Preset> presets;
  const int size = qMin(settings.beginReadArray(QStringLiteral("inputs")), kMaxInputPresets);
  for (int i = 0; i < size; ++i) {
    settings.setArrayIndex(i);
    presets.push_back({settings.value(QStringLiteral("path")).toString(),
                       settings.value(QStringLiteral("npz")).toString(),
                       settings.value(QStringLiteral("specs")).toStringList(),
                       settings.value(QStringLiteral("assume")).toStringList()});
  }
  settings.endArray();
  return presets;
}

}  // namespace

bool nothingChosen(const protocol::InputsParams& inputs) {
  return inputs.npz.empty() && inputs.specs.empty() && inputs.assume.empty();
}

protocol::InputsParams inputPreset(const QString& modelPath) {
  protocol::InputsParams inputs;
  for (const Preset& preset : stored()) {
    if (preset.path != modelPath) continue;
    inputs.npz = preset.npz.toStdString();
    inputs.specs = fromQt(preset.specs);
    inputs.assume = fromQt(preset.assume);
    break;
  }
  return inputs;
}

void rememberInputs(const QString& modelPath, const protocol::InputsParams& inputs) {
  QVector<Preset> presets = stored();
  presets.removeIf([&](const Preset& preset) { return preset.path == modelPath; });
  if (!nothingChosen(inputs)) {
    presets.prepend({modelPath, QString::fromStdString(inputs.npz), toQt(inputs.specs), toQt(inputs.assume)});
  }
  if (presets.size() > kMaxInputPresets) presets.resize(kMaxInputPresets);
  QSettings settings;
  settings.remove(QStringLiteral("inputs"));
  settings.beginWriteArray(QStringLiteral("inputs"), static_cast<int>(presets.size()));
  for (int i = 0; i < presets.size(); ++i) {
    settings.setArrayIndex(i);
    settings.setValue(QStringLiteral("path"), presets[i].path);
    settings.setValue(QStringLiteral("npz"), presets[i].npz);
    settings.setValue(QStringLiteral("specs"), presets[i].specs);
    settings.setValue(QStringLiteral("assume"), presets[i].assume);
  }
  settings.endArray();
}

}  // namespace normlens::ui
