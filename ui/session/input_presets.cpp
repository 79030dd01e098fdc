#include "ui/session/input_presets.h"

#include <QSettings>
#include <QStringList>
#include <QVector>

namespace normlens::ui {

namespace {

struct Preset {
  QString path, npz;
  QStringList specs;
};

QVector<Preset> stored() {
  QSettings settings;
  QVector<Preset> presets;
  const int size = qMin(settings.beginReadArray(QStringLiteral("inputs")), kMaxInputPresets);
  for (int i = 0; i < size; ++i) {
    settings.setArrayIndex(i);
    presets.push_back({settings.value(QStringLiteral("path")).toString(),
                       settings.value(QStringLiteral("npz")).toString(),
                       settings.value(QStringLiteral("specs")).toStringList()});
  }
  settings.endArray();
  return presets;
}

}  // namespace

protocol::InputsParams inputPreset(const QString& modelPath) {
  protocol::InputsParams inputs;
  for (const Preset& preset : stored()) {
    if (preset.path != modelPath) continue;
    inputs.npz = preset.npz.toStdString();
    for (const QString& spec : preset.specs) inputs.specs.push_back(spec.toStdString());
    break;
  }
  return inputs;
}

void rememberInputs(const QString& modelPath, const protocol::InputsParams& inputs) {
  QVector<Preset> presets = stored();
  presets.removeIf([&](const Preset& preset) { return preset.path == modelPath; });
  if (!inputs.npz.empty() || !inputs.specs.empty()) {
    Preset preset{modelPath, QString::fromStdString(inputs.npz), {}};
    for (const std::string& spec : inputs.specs) preset.specs << QString::fromStdString(spec);
    presets.prepend(preset);
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
  }
  settings.endArray();
}

}  // namespace normlens::ui
