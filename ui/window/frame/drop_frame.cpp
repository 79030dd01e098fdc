#include "ui/window/frame/drop_frame.h"

#include <QFileInfo>
#include <QPainter>
#include <algorithm>

#include "ui/session/project/project.h"
#include "ui/theme/theme.h"

namespace normlens::ui {

namespace {

bool isModelFile(const QString& file) {
  static const QStringList kSuffixes{QStringLiteral("pt"),  QStringLiteral("pth"), QStringLiteral("ts"),
                                     QStringLiteral("jit"), QStringLiteral("pt2"), QStringLiteral("onnx")};
  return kSuffixes.contains(QFileInfo(file).suffix(), Qt::CaseInsensitive);
}

}  // namespace

DropPlan dropPlan(const QStringList& files) {
  const auto name = [](const QString& file) { return QFileInfo(file).fileName(); };
  if (files.size() == 1 && (isModelFile(files[0]) || isProjectFile(files[0])))
    return {files, DropFrame::tr("Drop to open %1.").arg(name(files[0]))};
  if (files.size() > 2)
    return {{}, DropFrame::tr("%1 files: at most two models can be shown side by side.").arg(files.size())};
  const auto other = std::ranges::find_if_not(files, isModelFile);
  if (other == files.end())
    return {files, DropFrame::tr("Drop to compare %1 with %2.").arg(name(files.value(0)), name(files.value(1)))};
  if (isProjectFile(*other)) return {{}, DropFrame::tr("%1 is a project: open it alone.").arg(name(*other))};
  return {{},
          DropFrame::tr("%1 is not a model: NormLens opens .pt, .pth, .ts, .jit, .pt2 and .onnx.").arg(name(*other))};
}

DropFrame::DropFrame(QWidget* over) : QWidget(over) {
  setObjectName(QStringLiteral("dropFrame"));
  setAttribute(Qt::WA_TransparentForMouseEvents);
  hide();
}

void DropFrame::show(const DropPlan& plan) {
  plan_ = plan;
  setAccessibleName(plan.words);
  setGeometry(parentWidget()->rect());
  raise();
  QWidget::show();
  update();
}

void DropFrame::paintEvent(QPaintEvent*) {
  constexpr int kEdge = 10, kPad = 16;
  const Theme theme = themeOf(this);
  const bool opens = !plan_.files.isEmpty();
  const QColor color = opens ? theme.accentText : theme.blocked;
  QPainter painter(this);
  painter.setRenderHint(QPainter::Antialiasing);
  QColor wash = opens ? theme.selection : theme.blockedBack;
  wash.setAlpha(150);
  painter.fillRect(rect(), wash);
  painter.setPen(QPen(color, 2, Qt::DashLine));
  painter.drawRoundedRect(QRectF(rect()).adjusted(kEdge, kEdge, -kEdge, -kEdge), 10, 10);
  const QFont font = uiFont(15, QFont::DemiBold);
  const QRect most = rect().adjusted(4 * kEdge, 4 * kEdge, -4 * kEdge, -4 * kEdge);
  const QRect words = QFontMetrics(font).boundingRect(most, Qt::AlignCenter | Qt::TextWordWrap, plan_.words);
  painter.setPen(QPen(color, 1));
  painter.setBrush(theme.panel);
  painter.drawRoundedRect(QRectF(words).adjusted(-kPad, -kPad, kPad, kPad), 8, 8);
  painter.setFont(font);
  painter.setPen(opens ? theme.text : theme.blocked);
  painter.drawText(words, Qt::AlignCenter | Qt::TextWordWrap, plan_.words);
}

}  // namespace normlens::ui
