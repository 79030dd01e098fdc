#include "ui/client/gpu_trial.h"

#include "ui/client/devices.h"

namespace normlens::ui {
namespace {

// Returns the sentence that is true where a step works.
QString stepText(const std::string& step) {
  const std::pair<const char*, QString> texts[] = {
      {"driver", GpuTrial::tr("Driver loaded")},
      {"start", GpuTrial::tr("Driver started; GPU found")},
      {"torch", GpuTrial::tr("LibTorch's CUDA part loaded")},
      {"memory", GpuTrial::tr("Memory allocated, written and read")},
      {"own_kernel", GpuTrial::tr("normlens::rms_norm agrees with float64")},
      {"torch_kernel", GpuTrial::tr("torch's layer_norm agrees with float64")},
      {"graph", GpuTrial::tr("CUDA graph captured and replayed")},
  };
  for (const auto& [name, text] : texts) {
    if (step == name) return text;
  }
  return QString::fromStdString(step);
}

QString lineOf(const protocol::GpuStep& step) {
  if (step.error.empty()) return GpuTrial::tr("✓ %1, %2 ms").arg(stepText(step.step)).arg(step.ms, 0, 'f', 1);
  const QString error = QString::fromStdString(step.error + (step.hint.empty() ? "" : ": " + step.hint));
  return GpuTrial::tr("✗ %1: failed, %2").arg(stepText(step.step), error);
}

QString textOf(const Reply<protocol::GpuCheck>& reply) {
  if (!reply) return GpuTrial::tr("The GPU could not be tested: %1").arg(reply.error().message);
  QStringList lines;
  for (const protocol::GpuStep& step : reply->steps) lines.append(lineOf(step));
  return lines.join(u'\n');
}

}  // namespace

GpuTrial::GpuTrial(EngineClient* engine, QObject* parent) : QObject(parent), engine_(engine), question_(engine, this) {
  connect(engine, &EngineClient::ready, this, [this] {
    question_.drop();
    answered_ = false;
    setText({});
  });
}

void GpuTrial::want() {
  const Devices devices = devicesOf(*engine_);
  if (!devices.ready || devices.gpu.isEmpty() || question_.pending() || answered_) return;
  setText(tr("The engine is testing the GPU…"));
  question_.ask(protocol::methods::kCheckGpu, {}, [this](const Reply<protocol::GpuCheck>& reply) {
    answered_ = reply.has_value();
    setText(textOf(reply));
  });
}

void GpuTrial::setText(const QString& text) {
  text_ = text;
  Q_EMIT changed();
}

}  // namespace normlens::ui
