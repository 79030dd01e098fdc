// Lists what a norm's fold depends on: a class mark, the name of a tensor or value, and what happens to it.
#pragma once

#include <QString>
#include <QVector>
#include <QWidget>

class QVBoxLayout;

namespace normlens::ui {

struct Need {
  enum class State { Plain, Done, Bad };
  QChar mark = u'L';    // vertex class
  QString name;         // shown monospaced
  QString note = {};    // quiet, after the name
  QString status = {};  // at the right
  State state = State::Plain;
  int target = -1;       // handed to activated()
  bool decides = false;  // it alone is in the way: emphasized
  bool leads = false;    // activated() goes somewhere else: an arrow shows that
};

// One row; a button, so that it can be reached by keyboard.
class NeedRow;

class NeedsList final : public QWidget {
  Q_OBJECT

 public:
  static constexpr int kMaxRows = 60;  // more are counted in a last line

  explicit NeedsList(QWidget* parent = nullptr);
  void setNeeds(const QVector<Need>& needs);
  void setCurrent(int target);

 Q_SIGNALS:
  void activated(int target);

 private:
  QVBoxLayout* layout_;
  QVector<NeedRow*> rows_;  // owned by the layout's widgets
};

}  // namespace normlens::ui
