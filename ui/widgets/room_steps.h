// Makes a bar give way in steps where its window is narrow or its text large, the least important first.
//
//   auto* steps = new RoomSteps(bar);
//   steps->add([=](bool taken) { summary->setVisible(!taken); });
//
// As many steps are taken as the bar's layout needs to keep its smallest width, and taken back when there is room. The
// bar itself then requires no width: it never keeps a window from being made smaller.
#pragma once

#include <QWidget>
#include <functional>
#include <vector>

namespace normlens::ui {

class RoomSteps final : public QObject {
  Q_OBJECT

 public:
  explicit RoomSteps(QWidget* bar);  // bar: has a layout, owns this

  void add(const std::function<void(bool taken)>& step);
  void clear();  // Removes the steps; nothing is hidden by them any more.
  void fit();    // the bar's content has changed

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  [[nodiscard]] int need() const;
  void take(size_t count);

  QWidget* bar_;
  std::vector<std::function<void(bool taken)>> steps_;
  size_t taken_ = 0;
  bool fitting_ = false;
  QSize settled_{-1, -1};  // the bar's width and need when it was last fitted
};

}  // namespace normlens::ui
