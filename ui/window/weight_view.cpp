#include "ui/window/weight_view.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QVBoxLayout>

#include "ui/session/format.h"
#include "ui/session/session.h"
#include "ui/widgets/column_plot.h"
#include "ui/widgets/elided_label.h"
#include "ui/widgets/frames.h"
#include "ui/widgets/property_list.h"

namespace normlens::ui {

WeightView::WeightView(Session* session, QWidget* parent) : QWidget(parent), session_(session) {
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(4);
  layout->addWidget(makeLine(Qt::Horizontal, this));
  auto* head = new QHBoxLayout;
  head->setContentsMargins(0, 4, 0, 0);
  title_ = new ElidedLabel({}, Qt::ElideLeft, this);
  title_->setProperty("kind", "section");
  shape_ = makeLabel({}, "soft", this);
  head->addWidget(title_, 1);
  head->addWidget(shape_);
  layout->addLayout(head);
  plot_ = new ColumnPlot(this);
  note_ = makeLabel({}, "faint", this);
  note_->setWordWrap(true);
  facts_ = new PropertyList(this);
  layout->addWidget(plot_);
  layout->addWidget(note_);
  layout->addWidget(facts_);
  hide();
}

void WeightView::showConstant(int value) {
  value_ = value;
  if (value < 0) {
    hide();
    return;
  }
  session_->requestTensorStats(value, this, [this, value](const Reply<protocol::TensorStats>& reply) {
    if (value != value_) return;
    setVisible(reply.has_value());
    if (!reply) return;
    const bool centered = !reply->column_means.empty();
    static_cast<ElidedLabel*>(title_)->setFullText(centered ? tr("Column means of %1").arg(shortName(text(reply->name)))
                                                            : text(reply->name));
    shape_->setText(formatShape(reply->shape));
    plot_->setVisible(centered);
    plot_->setMeans(reply->column_means);
    note_->setVisible(!centered);
    note_->setText(tr("The plan does not center this tensor."));
    facts_->setProperties(
        {{tr("type"), text(reply->dtype)},
         {tr("range"), QStringLiteral("%1 … %2").arg(formatNumber(reply->min), formatNumber(reply->max))},
         {tr("mean, deviation"),
          QStringLiteral("%1, %2").arg(formatNumber(reply->mean, 3), formatNumber(reply->deviation, 3))}});
  });
}

}  // namespace normlens::ui
