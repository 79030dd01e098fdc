// A bar above the page that says what went wrong, or what happened, in one sentence. Not modal. An error stays until it
// is closed; a message may be replaced by the next.
#pragma once

#include <QFrame>
#include <functional>

class QLabel;
class QPushButton;

namespace normlens::ui {

class InfoBar final : public QFrame {
  Q_OBJECT

 public:
  enum class Tone { Message, Error };

  explicit InfoBar(QWidget* parent = nullptr);

  // hint: what to do about it. action, other: a button's text and what it does; both close the bar.
  void show(Tone tone, const QString& message, const QString& hint = {}, const QString& actionText = {},
            std::function<void()> action = {}, const QString& otherText = {}, std::function<void()> other = {});
  void dismiss();
  [[nodiscard]] QString message() const;
  [[nodiscard]] bool showsError() const { return isVisibleTo(parentWidget()) && tone_ == Tone::Error; }
  [[nodiscard]] QPushButton* actionButton() const { return action_; }

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  Tone tone_ = Tone::Message;
  QLabel* message_;
  QLabel* hint_;
  QPushButton* action_;
  QPushButton* other_;
  std::function<void()> onAction_, onOther_;
};

}  // namespace normlens::ui
