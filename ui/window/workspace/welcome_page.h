// The page before a model is open: it shows what the program does, demo models, recent files, where to drop a file.
#pragma once

#include <QScrollArea>

class QFrame;
class QGridLayout;
class QVBoxLayout;

namespace normlens::ui {

class WelcomePage final : public QScrollArea {
  Q_OBJECT

 public:
  explicit WelcomePage(QWidget* parent = nullptr);

  void refresh();  // demo models and recent files as they are now

 Q_SIGNALS:
  void openClicked();
  void atlasClicked();
  void fileChosen(const QString& path);

 private:
  QWidget* makeDropArea(QWidget* parent);  // dashed, with the Open button
  void fillDemos();
  void fillRecent();

  QWidget* demoBox_;
  QGridLayout* demos_;
  QFrame* recentCard_;
  QVBoxLayout* recent_;
};

}  // namespace normlens::ui
