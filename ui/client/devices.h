// Where models can be measured, as the engine tells: asked by every menu that offers it.
#pragma once

#include <QString>

namespace normlens::ui {

class EngineClient;

struct Devices {
  bool ready = false;    // there is an engine to ask
  QString gpu, missing;  // name of the GPU; where there is none, why, and what would mend it

  // Of "cpu" and "cuda", that which is used where the user chose this one.
  [[nodiscard]] QString used(const QString& chosen) const { return gpu.isEmpty() ? QStringLiteral("cpu") : chosen; }
};
// Of an engine that is gone, what it had.
[[nodiscard]] Devices devicesOf(const EngineClient& engine);

}  // namespace normlens::ui
