#include "ui/learn/angles/angle_strip.h"

#include <QComboBox>
#include <QPainter>
#include <algorithm>
#include <cmath>
#include <numbers>
#include <random>

#include "core/protocol/methods.h"
#include "ui/client/question.h"
#include "ui/learn/angles/angle_plot.h"
#include "ui/learn/norm_geometry.h"
#include "ui/learn/vector_scene.h"
#include "ui/theme/theme.h"
#include "ui/widgets/frames.h"
#include "ui/words/format.h"

namespace normlens::ui {
namespace {

constexpr int64_t kTaughtWidth = 768;
constexpr int kHeight = 216, kKey = 260, kVectors = 512;
constexpr unsigned kSeed = 17;

enum class KeyMark { Bar, Dashes, Spike };

// One entry of the key: what it looks like in the plot.
class KeySign final : public QWidget {
 public:
  KeySign(KeyMark mark, QWidget* parent) : QWidget(parent), mark_(mark) { setFixedSize(22, grown(16)); }

 protected:
  void paintEvent(QPaintEvent*) override {
    const Theme theme = themeOf(this);
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    const QPointF middle = QRectF(rect()).center();
    if (mark_ == KeyMark::Bar) painter.fillRect(QRectF(middle - QPointF(9, 4), QSizeF(18, 8)), theme.classes.chosen);
    if (mark_ == KeyMark::Dashes) {
      painter.setPen(QPen(theme.textSoft, 1.6, Qt::DashLine));
      painter.drawLine(middle - QPointF(10, 0), middle + QPointF(10, 0));
    }
    if (mark_ == KeyMark::Spike) paintSceneMark(painter, middle, SceneMark::Shape::Diamond, theme.linearLine, 0.8);
  }

 private:
  KeyMark mark_;
};

// A sign, a name with its figure at the right, and a note below it.
QWidget* makeEntry(KeyMark mark, const QString& name, QLabel*& figure, QLabel*& note, QWidget* parent) {
  auto* entry = new QWidget(parent);
  auto* grid = new QGridLayout(entry);
  grid->setContentsMargins({});
  grid->setHorizontalSpacing(8);
  grid->setVerticalSpacing(0);
  figure = makeLabel({}, "mono", entry);
  note = makeLabel({}, "soft", entry);
  grid->addWidget(new KeySign(mark, entry), 0, 0);
  grid->addWidget(makeLabel(name, "fact", entry), 0, 1);
  grid->addWidget(figure, 0, 2, Qt::AlignRight);
  grid->addWidget(note, 1, 1, 1, 2);
  grid->setColumnStretch(1, 1);
  return entry;
}

QString spreadWords(double mean, double deviation) {
  return QStringLiteral("%1° ± %2°").arg(mean, 0, 'f', 1).arg(deviation, 0, 'f', 1);
}

bool isExact(const protocol::ProbeRow& row) {
  constexpr double kExact = 1e-4;  // degrees
  return std::abs(row.bare_angle_deg - 90) < kExact && row.bare_angle_std < kExact;
}

}  // namespace

protocol::ProbeRow randomRow(int64_t width, int vectors, unsigned seed) {
  constexpr double kStep = 0.5;  // degrees
  protocol::ProbeRow row;
  row.width = width;
  row.random.expected_std = 180 / std::numbers::pi / std::sqrt(static_cast<double>(width));
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  std::vector<double> angles;
  for (int i = 0; i < vectors; ++i) {
    Vector x(static_cast<size_t>(width));
    for (double& each : x) each = normal(random);
    angles.push_back(geometry::geometryOf(x).angleDeg);
  }
  const auto [least, most] = std::ranges::minmax(angles);
  const double mean = meanOf(angles);
  row.random.angle_deg = mean;
  row.random.angle_std = lengthOf(withoutMean(angles)) / std::sqrt(static_cast<double>(vectors));
  row.random_angles.step = kStep;
  row.random_angles.low = std::floor(least / kStep) * kStep;
  row.random_angles.counts.resize(static_cast<size_t>((most - row.random_angles.low) / kStep) + 1);
  for (const double angle : angles)
    ++row.random_angles.counts[static_cast<size_t>((angle - row.random_angles.low) / kStep)];
  return row;
}

AngleStrip::AngleStrip(QWidget* parent) : QFrame(parent), drawn_(randomRow(kTaughtWidth, kVectors, kSeed)) {
  setObjectName(QStringLiteral("angleStrip"));
  setProperty("kind", "card");
  setAlone(false);
  auto* column = makeColumn(this, 4, {16, 10, 16, 10});
  column->addWidget(makeHead());
  auto* body = new QHBoxLayout;
  plot_ = new AnglePlot(this);
  body->addWidget(plot_, 1);
  body->addWidget(makeKey());
  column->addLayout(body, 1);
  showGeometry(nullptr);
}

QWidget* AngleStrip::makeHead() {
  auto* head = new QWidget(this);
  auto* row = makeRow(head, -1);
  title_ = makeLabel({}, "section", head);
  tokens_ = makeLabel({}, "soft", head);
  norms_ = describe(makeNameChoice(14, head), "stripNorm", tr("The norm whose input is drawn."), tr("Norm"));
  row->addWidget(title_);
  row->addStretch();
  row->addWidget(tokens_);
  row->addWidget(norms_);
  connect(norms_, &QComboBox::currentIndexChanged, this, &AngleStrip::showRow);
  return head;
}

QWidget* AngleStrip::makeKey() {
  auto* key = key_ = new QWidget(this);
  key->setFixedWidth(grown(kKey));
  auto* column = makeColumn(key, 8);
  inputKey_ = makeEntry(KeyMark::Bar, tr("input"), input_, inputNote_, key);
  auto* randomKey = makeEntry(KeyMark::Dashes, tr("random vectors"), random_, randomNote_, key);
  outputKey_ = makeEntry(KeyMark::Spike, tr("norm's output"), output_, outputNote_, key);
  for (QWidget* entry : {inputKey_, randomKey, outputKey_}) column->addWidget(entry);
  column->addStretch();
  return key;
}

AngleStrip::~AngleStrip() = default;

void AngleStrip::showModel(const OpenModel& model) {
  const bool same =
      model.engine == model_.engine && model.document == model_.document && model.norms.size() == model_.norms.size();
  if (model.engine != model_.engine)
    question_ = model.engine != nullptr ? std::make_unique<Question>(model.engine, this) : nullptr;
  model_ = model;
  if (!same) {
    asked_ = false;
    if (question_) question_->drop();
    showGeometry(nullptr);
  }
  ask();
}

void AngleStrip::ask() {
  if (asked_ || !isVisible() || !question_ || model_.norms.empty()) return;
  asked_ = true;
  question_->ask(protocol::methods::kProbe, {}, [this](const Reply<protocol::ProbeResult>& reply) {
    if (reply) showGeometry(&*reply);
  });
}

void AngleStrip::showEvent(QShowEvent* event) {
  QFrame::showEvent(event);
  ask();
}

void AngleStrip::showGeometry(const protocol::ProbeResult* result) {
  rows_.clear();
  if (result != nullptr) {
    std::ranges::copy_if(result->rows, std::back_inserter(rows_), [](const protocol::ProbeRow& row) {
      return row.reason.empty() && !row.input_angles.counts.empty();
    });
  }
  const QSignalBlocker quiet(norms_);
  norms_->clear();
  for (const protocol::ProbeRow& row : rows_) norms_->addItem(text(row.title));
  norms_->setVisible(!rows_.empty());
  const auto taught = std::ranges::find(rows_, kTaughtWidth, &protocol::ProbeRow::width);
  norms_->setCurrentIndex(rows_.empty() ? -1 : taught == rows_.end() ? 0 : static_cast<int>(taught - rows_.begin()));
  showRow();
}

const protocol::ProbeRow* AngleStrip::row() const {
  const int at = norms_->currentIndex();
  return at >= 0 && static_cast<size_t>(at) < rows_.size() ? &rows_[static_cast<size_t>(at)] : nullptr;
}

void AngleStrip::showOutput(bool shown) {
  showsOutput_ = shown;
  showRow();
}

void AngleStrip::setAlone(bool alone) {
  setMinimumHeight(grown(kHeight));
  setMaximumHeight(alone ? QWIDGETSIZE_MAX : grown(kHeight));
}

void AngleStrip::setFactor(double factor) {
  plot_->setFactor(factor);
  key_->setFixedWidth(static_cast<int>(grown(kKey) * factor));
  for (QLabel* label : findChildren<QLabel*>())
    label->setStyleSheet(QStringLiteral("font-size: %1px;").arg(static_cast<int>(12 * factor)));
  norms_->setStyleSheet(QStringLiteral("font-size: %1px;").arg(static_cast<int>(12 * factor)));
}

void AngleStrip::choose(int row) { norms_->setCurrentIndex(row); }

void AngleStrip::showRow() {
  const protocol::ProbeRow* real = row();
  const protocol::ProbeRow& shown = real != nullptr ? *real : drawn_;
  title_->setText(tr("The same in %1 dimensions: angle to 1").arg(shown.width));
  inputKey_->setVisible(real != nullptr);
  outputKey_->setVisible(real != nullptr);
  random_->setText(spreadWords(shown.random.angle_deg, shown.random.angle_std));
  randomNote_->setText(
      tr("the control: spread 1/√%1 = %2°").arg(shown.width).arg(shown.random.expected_std, 0, 'f', 1));
  AngleView view{shown.input_angles, shown.random_angles, {}, {}};
  tokens_->setText(real != nullptr ? tr("%1 rows to").arg(formatCount(shown.input.rows))
                                   : tr("no norms in the model: %1 random vectors").arg(kVectors));
  if (real != nullptr) {
    const bool isLayerNorm = shown.kind == protocol::ProbedKind::LayerNorm;
    if (showsOutput_) view.output = shown.output_angles;
    view.spike = shown.bare_angle_deg;
    input_->setText(spreadWords(shown.input.angle_deg, shown.input.angle_std));
    inputNote_->setText(tr("%1° of mean").arg(std::abs(90 - shown.input.angle_deg), 0, 'f', 1));
    output_->setText(isExact(shown) ? tr("90.0° exactly") : spreadWords(shown.bare_angle_deg, shown.bare_angle_std));
    outputNote_->setText(
        !isLayerNorm ? tr("an RMSNorm does not change the angle")
        : showsOutput_
            ? tr("before γ and β; after them %1").arg(spreadWords(shown.output.angle_deg, shown.output.angle_std))
            : tr("before γ and β"));
  }
  plot_->setAngles(std::move(view));
  setAccessibleName(real != nullptr ? tr("Angle of %1's input to the uniform vector: %2; of random vectors: %3")
                                          .arg(text(shown.title), input_->text(), random_->text())
                                    : tr("Angle of random vectors to the uniform vector: %1").arg(random_->text()));
  Q_EMIT changed();
}

std::optional<double> AngleStrip::number(const QString& name) const {
  const protocol::ProbeRow* real = row();
  if (name == QLatin1String("randomSpread")) return real != nullptr ? real->random.angle_std : drawn_.random.angle_std;
  if (real == nullptr) return std::nullopt;
  if (name == QLatin1String("inputAngle")) return real->input.angle_deg;
  if (name == QLatin1String("outputAngle")) return real->bare_angle_deg;
  return std::nullopt;
}

}  // namespace normlens::ui
