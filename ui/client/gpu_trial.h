// Holds what an engine finds when it tries its GPU: driver, memory, kernels, a CUDA graph. Thread: GUI thread.
#pragma once

#include <QObject>

#include "ui/client/question.h"

namespace normlens::ui {

class GpuTrial final : public QObject {
  Q_OBJECT

 public:
  // engine: not owned, outlives this.
  GpuTrial(EngineClient* engine, QObject* parent);

  // Has the engine try its GPU, once for each engine that has one.
  void want();
  [[nodiscard]] QString text() const { return text_; }  // a line for each step; empty: not tried

 Q_SIGNALS:
  void changed();

 private:
  void setText(const QString& text);

  EngineClient* engine_;
  Question question_;
  QString text_;
  bool answered_ = false;  // by this engine; after an error, want() tries again
};

}  // namespace normlens::ui
