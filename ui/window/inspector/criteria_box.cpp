#include "ui/window/inspector/criteria_box.h"

#include <QPainter>

#include "ui/models/norm_model.h"
#include "ui/theme/theme.h"
#include "ui/widgets/lesson_link.h"

namespace normlens::ui {

CriteriaBox::CriteriaBox(QWidget* parent) : QWidget(parent) {
  setFixedHeight(66);
  explain(this,
          tr("The paper's Algorithm 1 takes an LN's output for zero-mean whatever its γ and β, and an embedding for "
             "opaque; the exact rule reads the weights."),
          "gamma_beta");
}

bool CriteriaBox::differs(const protocol::NormInfo& norm) {
  const Verdict verdict = verdictFromName(norm.verdict);
  return norm.paper != (verdict == Verdict::Free);
}

void CriteriaBox::setNorm(const protocol::NormInfo& norm) {
  const Verdict verdict = verdictFromName(norm.verdict);
  paper_ = {tr("Paper criterion"),
            norm.paper             ? tr("foldable")
            : norm.paper_practical ? tr("with centering")
                                   : tr("not foldable"),
            norm.paper ? tr("ignores γ and β") : tr("tables are opaque"), false};
  switch (verdict) {
    case Verdict::Free:
      exact_ = {tr("Exact"), tr("folds free"), tr("tables center free"), false};
      break;
    case Verdict::WithCentering:
      exact_ = {tr("Exact"), tr("with centering"), tr("at run time, shared"), false};
      break;
    case Verdict::Blocked:
      exact_ = {tr("Exact"), tr("no"), tr("γ, β or an op matter"), true};
      break;
  }
  setAccessibleName(
      QStringLiteral("%1: %2. %3: %4.").arg(paper_.caption, paper_.answer, exact_.caption, exact_.answer));
  update();
}

void CriteriaBox::paintSide(QPainter& painter, const QRectF& area, const Side& side) const {
  const Theme theme = themeOf(this);
  painter.setPen(side.bad ? theme.blocked : theme.hairline);
  painter.setBrush(side.bad ? theme.blockedBack : theme.chrome);
  painter.drawRoundedRect(area.adjusted(0.5, 0.5, -0.5, -0.5), 6, 6);
  const QRectF inner = area.adjusted(9, 6, -6, -6);
  painter.setFont(uiFont(11));
  painter.setPen(theme.textSoft);
  painter.drawText(inner, Qt::AlignLeft | Qt::AlignTop, side.caption);
  painter.drawText(inner, Qt::AlignLeft | Qt::AlignBottom, side.note);
  painter.setFont(uiFont(13, QFont::DemiBold));
  painter.setPen(side.bad ? theme.blocked : theme.text);
  painter.drawText(inner, Qt::AlignLeft | Qt::AlignVCenter, side.answer);
}

void CriteriaBox::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  const double half = (width() - 8) / 2.0;
  paintSide(painter, QRectF(0, 0, half, height()), paper_);
  paintSide(painter, QRectF(half + 8, 0, half, height()), exact_);
}

}  // namespace normlens::ui
