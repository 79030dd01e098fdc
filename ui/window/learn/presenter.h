// The lesson that is open, for a room: title, figure, one line below, nothing smaller than 18 pixels. A window of its
// own on the whole screen; the same walk as the page.
//
// Keys: → Space PgDn on, ← PgUp back, 1 to 9 a step, B black, W white, L a dot at the pointer, T light or dark, + −
// size, Esc out.
#pragma once

#include <QTimer>
#include <QWidget>
#include <map>

class QLabel;
class QScreen;
class QStackedLayout;

namespace normlens::ui {

class Figure;
class LessonModels;
class LessonWalk;

class Presenter final : public QWidget {
  Q_OBJECT

 public:
  Presenter(LessonWalk* walk, LessonModels* models);  // neither is owned

  void showOn(QScreen* screen);
  [[nodiscard]] Figure* figure() const { return figure_; }

 Q_SIGNALS:
  void closed();
  void themeWanted(bool dark);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  bool eventFilter(QObject* watched, QEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void closeEvent(QCloseEvent* event) override;

 private:
  enum class Curtain { None, Black, White };

  void showStep();
  void arrange();
  void setCurtain(Curtain curtain);
  void setLaser(bool on);
  void mouseMoved(const QPoint& at);
  [[nodiscard]] double factor() const;  // Scales lengths for 1440 pixels.
  [[nodiscard]] int scaled(int pixels) const;
  [[nodiscard]] QRectF foot() const;

  LessonWalk* walk_;
  LessonModels* models_;
  QLabel *lesson_, *title_;
  Figure* figure_ = nullptr;
  std::map<QString, Figure*> made_;  // by kind
  QWidget* laser_;
  double enlarged_ = 1;
  Curtain curtain_ = Curtain::None;
  bool chrome_ = true;  // the line below
  QTimer rest_;         // Runs while the mouse rests.
};

}  // namespace normlens::ui
