// Writes pictures of the graph, one at a time, and shows how far it is.
#pragma once

#include <memory>

#include "ui/window/writing_bar.h"

namespace normlens::graphview {
class PictureJob;
struct PictureOrder;
}  // namespace normlens::graphview

namespace normlens::ui {

class PictureBar final : public WritingBar {
  Q_OBJECT

 public:
  explicit PictureBar(QWidget* parent);
  ~PictureBar() override;

  void start(graphview::PictureOrder order);  // stops the one before

 Q_SIGNALS:
  void done(bool written, const QString& message);  // message: a sentence, empty when it was stopped

 private:
  void end(bool written, const QString& message);

  std::unique_ptr<graphview::PictureJob> job_;
};

}  // namespace normlens::ui
