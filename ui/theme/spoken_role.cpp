#include "ui/theme/spoken_role.h"

#include <QAccessibleWidget>
#include <QVariant>

namespace normlens::ui {
namespace {

constexpr const char* kRole = "spokenRole";

QAccessibleInterface* withRole(const QString&, QObject* object) {
  const QVariant role = object != nullptr && object->isWidgetType() ? object->property(kRole) : QVariant();
  if (!role.isValid()) return nullptr;
  return new QAccessibleWidget(static_cast<QWidget*>(object), static_cast<QAccessible::Role>(role.toInt()));
}

}  // namespace

void setSpokenRole(QWidget* widget, QAccessible::Role role) {
  QAccessible::installFactory(withRole);  // Qt keeps it once
  widget->setProperty(kRole, static_cast<int>(role));
}

}  // namespace normlens::ui
