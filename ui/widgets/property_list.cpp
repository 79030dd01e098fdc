#include "ui/widgets/property_list.h"

#include "ui/widgets/elided_label.h"
#include "ui/widgets/follow_text.h"
#include "ui/widgets/frames.h"

namespace normlens::ui {

namespace {

constexpr int kWholeFigure = 110;  // "1.06e-08 of 1.0e-06": where there is little room the name gives way

}  // namespace

PropertyList::PropertyList(QWidget* parent) : QWidget(parent), layout_(new QVBoxLayout(this)) {
  layout_->setContentsMargins(0, 0, 0, 0);
  layout_->setSpacing(0);
}

void PropertyList::setProperties(const QVector<Property>& properties) {
  if (properties == shown_) return;  // new rows are blank at first: always, where a job reports often
  shown_ = properties;
  while (QLayoutItem* item = layout_->takeAt(0)) {
    delete item->widget();
    delete item;
  }
  for (const Property& property : properties) {
    auto* row = new QWidget(this);
    setTextHeight(row, 23);
    row->setToolTip(property.tip);
    auto* line = makeRow(row, 12);
    auto* name = new ElidedLabel(property.name, Qt::ElideRight, row);
    name->setProperty("kind", property.strong ? "section" : "fact");
    auto* value = new ElidedLabel(property.value, Qt::ElideMiddle, row);
    value->setProperty("kind", property.strong ? "monoStrong" : "mono");
    value->setAlignment(Qt::AlignRight | Qt::AlignVCenter);
    if (!property.value.isEmpty()) value->setTextInteractionFlags(Qt::TextSelectableByMouse);  // and takes the focus
    value->setObjectName(QStringLiteral("propertyValue"));
    value->setWholeUpTo(kWholeFigure);
    line->addWidget(name);
    line->addWidget(value, 1);
    layout_->addWidget(row);
    layout_->addWidget(makeLine(Qt::Horizontal, this));
  }
}

}  // namespace normlens::ui
