// The settings of a run of the laboratory as a form has them: what each is called, what is written in it, and how that
// is read. Thread: pure functions.
#pragma once

#include <QString>
#include <QStringList>
#include <span>
#include <string_view>

#include "core/protocol/run_settings.h"

namespace normlens::ui {

struct LabChoice {
  std::string_view key;
  QString name;
  QString tip;
  bool offered = true;  // the experiment takes it
};

struct LabField {
  enum class Kind { Text, Choice, File };

  std::string_view key;  // Names the setting: "epochs".
  Kind kind;
  const char *name, *tip;  // untranslated: see nameOf(), tipOf()
  bool (*belongs)(const lab::RunSettings& settings);
  QString (*show)(const lab::RunSettings& settings);  // Returns the key of a choice.
  // False: that cannot be read, and nothing was changed. What is read may still be out of range: checkRunSettings().
  bool (*take)(lab::RunSettings& settings, const QString& words);
  QList<LabChoice> (*choices)(const lab::RunSettings& settings) = nullptr;  // Set for a choice.
};

// Returns the fields in the order of the form.
[[nodiscard]] std::span<const LabField> labFields();
[[nodiscard]] QString nameOf(const LabField& field, const lab::RunSettings& settings);
[[nodiscard]] QString tipOf(const LabField& field);

}  // namespace normlens::ui
