// Shows that a picture is being written, how far it is, and a button to stop it. Hidden while nothing is written.
#pragma once

#include <QFrame>
#include <memory>

class QProgressBar;

namespace normlens::graphview {
class PictureJob;
struct PictureOrder;
}  // namespace normlens::graphview

namespace normlens::ui {

class ElidedLabel;

class PictureBar final : public QFrame {
  Q_OBJECT

 public:
  explicit PictureBar(QWidget* parent);
  ~PictureBar() override;

  void start(graphview::PictureOrder order);  // stops the one before

 Q_SIGNALS:
  void done(bool written, const QString& message);  // message: a sentence, empty when it was stopped

 private:
  void end(bool written, const QString& message);

  ElidedLabel* label_;
  QProgressBar* progress_;
  std::unique_ptr<graphview::PictureJob> job_;
};

}  // namespace normlens::ui
