// Holds the devices that models can be measured on, as the engine reports them, for every menu that offers them.
#pragma once

#include <QString>

namespace normlens::ui {

class EngineClient;

struct Devices {
  bool ready = false;    // the engine is ready for requests
  QString gpu, missing;  // name of the GPU; where there is none, why, and what would mend it
  QString host;          // the engine's; empty: this machine

  // Returns the device, "cpu" or "cuda", that is used where the user chose this one.
  [[nodiscard]] QString used(const QString& chosen) const { return gpu.isEmpty() ? QStringLiteral("cpu") : chosen; }
};
// An engine that is gone is described by what it had.
[[nodiscard]] Devices devicesOf(const EngineClient& engine);

}  // namespace normlens::ui
