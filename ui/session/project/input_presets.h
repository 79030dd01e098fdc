// The inputs that the user set for a model, kept in QSettings by the model's path. Empty ones forget the preset.
#pragma once

#include <QString>

#include "core/protocol/messages.h"

namespace normlens::ui {

inline constexpr int kMaxInputPresets = 50;

// The engine guesses all of them.
[[nodiscard]] bool nothingChosen(const protocol::InputsParams& inputs);
[[nodiscard]] protocol::InputsParams inputPreset(const QString& modelPath);
void rememberInputs(const QString& modelPath, const protocol::InputsParams& inputs);

}  // namespace normlens::ui
