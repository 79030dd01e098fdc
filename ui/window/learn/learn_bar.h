// The bar above the pages that fill the window beside the model's own: back, which page, and what the page adds.
#pragma once

#include <QFrame>

namespace normlens::ui {

class IconButton;

enum class LearnPageKind { Lessons, Laboratory, Probe, Atlas };

class LearnBar final : public QFrame {
  Q_OBJECT

 public:
  LearnBar(LearnPageKind page, QWidget* parent);

  void setModelName(const QString& name);  // empty: none is open
  void addAtEnd(QWidget* widget);

 Q_SIGNALS:
  void closed();
  void pageWanted(normlens::ui::LearnPageKind page);

 private:
  IconButton* back_;
};

}  // namespace normlens::ui
