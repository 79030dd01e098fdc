// Rows of a name and a value, hairlines between them; values monospaced and selectable.
#pragma once

#include <QPair>
#include <QVector>
#include <QWidget>

class QVBoxLayout;

namespace normlens::ui {

struct Property {
  QString name, value;
  QString tip = {};  // one sentence; may be empty
  bool strong = false;

  bool operator==(const Property&) const = default;
};

class PropertyList final : public QWidget {
  Q_OBJECT

 public:
  explicit PropertyList(QWidget* parent = nullptr);
  void setProperties(const QVector<Property>& properties);

 private:
  QVBoxLayout* layout_;
  QVector<Property> shown_;
};

}  // namespace normlens::ui
