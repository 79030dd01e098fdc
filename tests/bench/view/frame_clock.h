// An application that tells what each frame of its windows cost: all that the GUI thread did since the frame before,
// painting included. Thread: GUI thread.
#pragma once

#include <QApplication>
#include <vector>

namespace normlens::bench {

// In ms. cpu: of the GUI thread alone, so that it holds on a machine with other work.
struct FrameCost {
  double wall = 0, cpu = 0;
};

class FrameClock final : public QApplication {
 public:
  using QApplication::QApplication;

  bool notify(QObject* receiver, QEvent* event) override;
  [[nodiscard]] std::vector<FrameCost> take();  // since it was last asked
  [[nodiscard]] size_t frames() const { return frames_.size(); }

 private:
  int depth_ = 0;  // of events that are sent while another is handled
  bool painted_ = false;
  FrameCost since_;
  std::vector<FrameCost> frames_;
};

}  // namespace normlens::bench
