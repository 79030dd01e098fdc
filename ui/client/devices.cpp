#include "ui/client/devices.h"

#include <QCoreApplication>

#include "ui/client/engine_client.h"

namespace normlens::ui {

Devices devicesOf(const EngineClient& engine) {
  const auto tr = [](const char* words) { return QCoreApplication::translate("Devices", words); };
  const protocol::EngineInfo& info = engine.info();
  Devices devices{engine.state() == EngineClient::State::Ready, {}, {}, engine.host()};
  if (info.device.empty()) {
    devices.missing = tr("The engine looks for a GPU when it starts.");
  } else if (!info.no_gpu.empty()) {
    devices.missing = tr("No GPU found. %1").arg(QString::fromStdString(info.no_gpu));
  } else {
    devices.gpu = QString::fromStdString(info.device);
  }
  return devices;
}

}  // namespace normlens::ui
