// A bar above the page that reports what went wrong, or what happened, in one sentence. Not modal. An error stays until
// it is closed; a message may be replaced by the next.
#pragma once

#include <QFrame>
#include <array>
#include <functional>
#include <vector>

class QLabel;
class QPushButton;

namespace normlens::ui {

class InfoBar final : public QFrame {
  Q_OBJECT

 public:
  enum class Tone { Message, Error, Choice };  // Choice: an error of which the second button is the way out

  explicit InfoBar(QWidget* parent = nullptr);

  struct Way {
    QString text;                   // Stands on its button.
    std::function<void()> go = {};  // the bar is closed first
  };
  // hint: what to do about it. ways: at most three buttons.
  void show(Tone tone, const QString& message, const QString& hint = {}, std::vector<Way> ways = {});
  void dismiss();
  // Names what the bar is about, so that it can close once that is over; show() clears it.
  void setTopic(const QString& topic) { topic_ = topic; }
  [[nodiscard]] bool isAbout(const QString& topic) const { return !isHidden() && topic_ == topic; }
  void dismissAbout(const QString& topic);
  [[nodiscard]] QString message() const;
  [[nodiscard]] bool asks() const { return !isHidden() && !ways_.empty(); }  // there is something to choose
  [[nodiscard]] bool showsError() const { return isVisibleTo(parentWidget()) && tone_ != Tone::Message; }

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  Tone tone_ = Tone::Message;
  QString topic_;
  QLabel* message_;
  QLabel* hint_;
  std::array<QPushButton*, 3> buttons_;
  QWidget* close_;
  std::vector<Way> ways_;
};

}  // namespace normlens::ui
