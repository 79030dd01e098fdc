// A file by the machine that it is on, as the window names it: "gpu-box:/models/x.onnx" is on gpu-box, a path without a
// machine is of this one. Thread: any.
#pragma once

#include <QString>

namespace normlens::ui {

[[nodiscard]] QString placedOn(const QString& machine, const QString& path);
[[nodiscard]] QString machineOf(const QString& file);  // empty: this one
[[nodiscard]] QString pathThere(const QString& file);  // without the machine

}  // namespace normlens::ui
