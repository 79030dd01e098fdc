#include "ui/widgets/property_list.h"

#include <algorithm>

#include "ui/theme/theme.h"
#include "ui/widgets/elided_label.h"
#include "ui/widgets/follow_text.h"
#include "ui/widgets/frames.h"

namespace normlens::ui {

namespace {

constexpr int kRowHeight = 23;
constexpr int kWholeFigure = 110;  // "1.06e-8 of 1.0e-6": where there is little room the name gives way
constexpr int kWholeName = 60;     // beside words that can be wrapped
constexpr int kLongestWord = 20;   // of words that are wrapped: a path is cut instead

bool isSentence(const QString& value) {
  const QStringList words = value.split(u' ');
  return words.size() > 1 &&
         std::ranges::all_of(words, [](const QString& word) { return word.size() <= kLongestWord; });
}

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
    const bool wraps = isSentence(property.value);
    if (wraps) {
      followText(row, [row] { row->setMinimumHeight(grown(kRowHeight)); });
    } else {
      setTextHeight(row, kRowHeight);
    }
    row->setToolTip(property.tip);
    auto* line = makeRow(row, 12);
    auto* name = new ElidedLabel(property.name, Qt::ElideRight, row);
    name->setProperty("kind", property.strong ? "section" : "fact");
    auto* value = new ElidedLabel(property.value, Qt::ElideMiddle, row);
    if (wraps) {
      value->setWordWrap(true);
      name->setWholeUpTo(kWholeName);
    }
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
