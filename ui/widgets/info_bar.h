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
  enum class Tone { Message, Error, Choice };  // Choice: an error of which the second button is the way out

  explicit InfoBar(QWidget* parent = nullptr);

  // hint: what to do about it. action, other: a button's text and what it does; both close the bar.
  void show(Tone tone, const QString& message, const QString& hint = {}, const QString& actionText = {},
            std::function<void()> action = {}, const QString& otherText = {}, std::function<void()> other = {});
  void dismiss();
  // What the bar is about, so that it can leave once that is over; show() forgets it.
  void setTopic(const QString& topic) { topic_ = topic; }
  [[nodiscard]] bool isAbout(const QString& topic) const { return !isHidden() && topic_ == topic; }
  void dismissAbout(const QString& topic);
  [[nodiscard]] QString message() const;
  [[nodiscard]] bool showsError() const { return isVisibleTo(parentWidget()) && tone_ != Tone::Message; }

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  Tone tone_ = Tone::Message;
  QString topic_;
  QLabel* message_;
  QLabel* hint_;
  QPushButton* action_;
  QPushButton* other_;
  QWidget* close_;
  std::function<void()> onAction_, onOther_;
};

}  // namespace normlens::ui
