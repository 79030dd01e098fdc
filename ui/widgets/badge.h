// A pill with an icon and a word: a verdict, or the outcome of a proof; outlined, with square corners: what the plan
// does. Never color alone.
#pragma once

#include <QWidget>

namespace normlens::ui {

class Badge final : public QWidget {
  Q_OBJECT

 public:
  enum class Tone { Good, Blocked, Centering, Neutral, Accent };
  enum class Look { Filled, Outlined };

  explicit Badge(QWidget* parent = nullptr, Look look = Look::Filled);

  void set(Tone tone, const QString& icon, const QString& word);
  [[nodiscard]] QString word() const { return word_; }
  [[nodiscard]] QSize sizeHint() const override;
  [[nodiscard]] QSize minimumSizeHint() const override;  // of its widest word: the others are below
  [[nodiscard]] int heightForWidth(int width) const override;

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  [[nodiscard]] int widthWith(int word) const;

  Look look_;
  Tone tone_ = Tone::Neutral;
  QString icon_, word_;
};

}  // namespace normlens::ui
