// The bar on top of the Benchmark page: the fields set what is to be measured, the button starts it. The fields are
// those of Measurements::params(), both ways.
#pragma once

#include <QWidget>

class QCheckBox;
class QComboBox;
class QHBoxLayout;
class QLineEdit;
class QSpinBox;

namespace normlens::ui {

class PushButton;
class RoomSteps;
class Session;
class SideChoice;

class BenchBar final : public QWidget {
  Q_OBJECT

 public:
  BenchBar(Session* session, QWidget* parent);             // session: not owned
  [[nodiscard]] QHBoxLayout* row() const { return row_; }  // the counts, and what else there is
  [[nodiscard]] RoomSteps* room() const { return room_; }
  void giveWay();  // Adds its own steps to room(), behind those that are there.

 private:
  void buildCounts();
  void showCounts();  // with their units where there is room
  void buildChoices();
  void buildSides();
  void fill();       // from the session
  void apply();      // to the session
  void showState();  // Enables what can be done now.

  Session* session_;  // Not owned.
  QHBoxLayout* rows_;
  QHBoxLayout* row_;  // the last of them
  RoomSteps* room_;
  PushButton *start_, *stop_;
  QSpinBox *rounds_, *iterations_;
  QLineEdit* sweep_;
  QComboBox *device_, *type_;
  QCheckBox *until_, *graphs_;
  SideChoice *a_, *b_;
  bool filling_ = false, narrow_ = false;
};

}  // namespace normlens::ui
