#include "ui/graphview/overlays/overlays.h"

#include <QFontMetrics>
#include <QPainter>
#include <QPen>
#include <QWidget>
#include <algorithm>

#include "ui/graphview/marks/mean_states.h"
#include "ui/graphview/overlays/blocker_chip.h"
#include "ui/graphview/overlays/centering_callout.h"
#include "ui/graphview/overlays/minimap.h"
#include "ui/graphview/overlays/shortcut_sheet.h"
#include "ui/graphview/overlays/zoom_control.h"

namespace normlens::graphview {
namespace {

constexpr int kRowHeight = 20, kLegendPad = 10, kSample = 34;

constexpr int kFromEdge = 12;
constexpr QSize kSmallestForMap(480, 300);

}  // namespace

// Explains the lines of the overlay, with numbers, in a corner of the graph.
class MeanLegend : public QWidget {
 public:
  explicit MeanLegend(QWidget* parent) : QWidget(parent) {
    setAttribute(Qt::WA_TransparentForMouseEvents);
    setAccessibleName(tr("Legend of the lines"));
  }

  void setStates(const MeanStates& states) {
    states_ = states;
    QStringList words;
    for (const Row& row : rows()) words << row.text;
    setAccessibleDescription(words.join(QStringLiteral(", ")));
    resize(sizeHint());
    update();
  }
  [[nodiscard]] QSize sizeHint() const override {
    const QFontMetrics metrics(ui::uiFont(12));
    int width = 0;
    for (const Row& row : rows()) width = std::max(width, metrics.horizontalAdvance(row.text));
    return {width + kSample + 3 * kLegendPad, 4 * ui::grown(kRowHeight) + kLegendPad};
  }

 protected:
  void paintEvent(QPaintEvent*) override {
    const ui::Theme theme = ui::themeOf(this);
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(QPen(theme.control, 1));
    painter.setBrush(theme.panel);
    painter.drawRoundedRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5), 6, 6);
    painter.setFont(ui::uiFont(12));
    const int high = ui::grown(kRowHeight);
    int y = kLegendPad / 2;
    for (const Row& row : rows()) {
      QPen pen(meanColor(row.state, theme), row.state == MeanState::Unknown ? 1.5 : 3, Qt::SolidLine, Qt::FlatCap);
      setMeanDashes(pen, row.state);
      painter.setPen(pen);
      painter.drawLine(QPointF(kLegendPad, y + high / 2.0), QPointF(kLegendPad + kSample, y + high / 2.0));
      painter.setPen(theme.text);
      painter.drawText(QRect(2 * kLegendPad + kSample, y, width(), high), Qt::AlignVCenter | Qt::AlignLeft, row.text);
      y += high;
    }
  }

 private:
  struct Row {
    MeanState state = MeanState::Unknown;
    QString text;
  };
  [[nodiscard]] std::vector<Row> rows() const {
    const auto count = [this](MeanState state) { return states_.count(state); };
    return {{MeanState::Now, tr("zero-mean now: %1").arg(count(MeanState::Now))},
            {MeanState::Planned, tr("zero-mean after the plan: %1").arg(count(MeanState::Planned))},
            {MeanState::NotZero, tr("not zero-mean: %1").arg(count(MeanState::NotZero))},
            {MeanState::Unknown, tr("no LayerNorm depends on this")}};
  }

  MeanStates states_;
};

Overlays::Overlays(QWidget* canvas)
    : canvas_(canvas),
      minimap_(new Minimap(canvas)),
      zoomControl_(new ZoomControl(canvas)),
      meanLegend_(new MeanLegend(canvas)),
      centering_(new CenteringCallout(canvas)),
      blocker_(new BlockerChip(canvas)),
      keys_(new ShortcutSheet(canvas)) {
  for (QWidget* widget : std::initializer_list<QWidget*>{minimap_, zoomControl_, meanLegend_}) widget->hide();
}

void Overlays::show(bool shown, const Scene& scene, const Lighting& lighting, const MeanStates& means) {
  zoomControl_->setVisible(shown && !presented_);
  const bool roomForMap = canvas_->width() > kSmallestForMap.width() && canvas_->height() > kSmallestForMap.height();
  minimap_->setVisible(shown && roomForMap && !presented_);
  minimap_->setScene(scene, lighting);
  meanLegend_->setStates(means);
  meanLegend_->setVisible(shown && means.active());
  if (shown && !presented_) {
    blocker_->setScene(scene, lighting);
    centering_->setScene(scene, lighting);
  } else {
    blocker_->clear();
    centering_->clear();
  }
  place();
}

void Overlays::setBlockerReason(const QString& reason) { blocker_->setReason(reason); }

void Overlays::setCamera(double zoom, const QRectF& visible) {
  zoomControl_->setZoom(zoom);
  minimap_->setVisibleArea(visible);
  // Not `zoom`, which is relative to the size of text.
  const double pixels = canvas_->width() / std::max(1e-9, visible.width());
  blocker_->setVisibleArea(pixels, visible, corner());
  const QRegion chip = blocker_->isHidden() ? QRegion() : QRegion(blocker_->geometry());
  centering_->setVisibleArea(pixels, visible, chip + corner());
}

QRect Overlays::corner() const {
  if (zoomControl_->isHidden()) return {};
  return minimap_->isHidden() ? zoomControl_->geometry() : zoomControl_->geometry().united(minimap_->geometry());
}

QRect Overlays::mapArea() const { return minimap_->isHidden() ? QRect() : minimap_->geometry(); }

void Overlays::toggleKeys() { keys_->toggle(); }

bool Overlays::hideKeys() {
  const bool visible = keys_->isVisible();
  keys_->hide();
  return visible;
}

void Overlays::place() {
  const QSize map = minimap_->sizeHint(), control = zoomControl_->sizeHint();
  const int right = canvas_->width() - kFromEdge, bottom = canvas_->height() - kFromEdge;
  minimap_->setGeometry(right - map.width(), bottom - map.height(), map.width(), map.height());
  meanLegend_->move(kFromEdge, bottom - meanLegend_->height());
  const int controlRight = minimap_->isHidden() ? right : minimap_->x() - 8;
  zoomControl_->setGeometry(controlRight - control.width(), bottom - control.height(), control.width(),
                            control.height());
}

}  // namespace normlens::graphview
