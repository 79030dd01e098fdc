// Two models' latencies side by side: a band from the 5th to the 95th percentile and a tick at the median.
#pragma once

#include <QWidget>
#include <optional>

#include "core/protocol/bench_messages.h"

namespace normlens::ui {

class LatencyPlot final : public QWidget {
  Q_OBJECT

 public:
  explicit LatencyPlot(QWidget* parent = nullptr);

  void setResult(const std::optional<protocol::BenchResult>& result);
  [[nodiscard]] QSize sizeHint() const override { return {420, 120}; }

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  std::optional<protocol::BenchResult> result_;
};

}  // namespace normlens::ui
