#include "ui/window/bottom/bench_bar.h"

#include <QCheckBox>
#include <QComboBox>
#include <QCoreApplication>
#include <QLineEdit>
#include <QSpinBox>
#include <QStandardItemModel>
#include <string>

#include "ui/client/devices.h"
#include "ui/session/session.h"
#include "ui/theme/theme.h"
#include "ui/widgets/follow_text.h"
#include "ui/widgets/push_button.h"
#include "ui/widgets/room_steps.h"
#include "ui/window/actions.h"
#include "ui/window/parts.h"
#include "ui/words/bench_text.h"
#include "ui/words/format.h"

namespace normlens::ui {

namespace {

constexpr QLatin1String kAsk("?");
constexpr int kLetters = 5;  // an icon's room comes on top

constexpr int kMostCount = 10'000;
constexpr double kUntilPercent = 2;
constexpr int kRoundsUntilSure = 200;                // at most
constexpr int kDeviceLetters = 1, kTypeLetters = 7;  // an icon's room comes on top

}  // namespace

// One of the two models of a measurement: the open one, its fold, its fold in another norm flavour, its fused form, or
// a file, chosen in a dialog. Names of sides: see protocol::BenchParams.
class SideChoice final : public QComboBox {
  Q_OBJECT

 public:
  enum class Which { A, B };  // B may be none

  // session: not owned
  SideChoice(Session* session, Which which, QWidget* parent) : QComboBox(parent), session_(session) {
    setSizeAdjustPolicy(AdjustToMinimumContentsLengthWithIcon);
    setMinimumContentsLength(kLetters);
    setSizePolicy(QSizePolicy::Fixed, QSizePolicy::Fixed);
    const auto add = [this](const QString& words, const QString& side, const QString& tip) {
      addItem(words, side);
      setItemData(count() - 1, tip, Qt::ToolTipRole);
    };
    const auto addSide = [&](const std::string& side, const QString& tip) { add(sideName(side), text(side), tip); };
    addSide("original", tr("The open model, as in its file."));
    addSide("folded", tr("The open model's last fold."));
    for (const NamedWay& flavour : normFlavours()) {
      addSide(std::string("folded:") + flavour.name, QCoreApplication::translate("Flavor", flavour.meaning));
    }
    addSide("fused",
            tr("The open model with each norm and the residual add before it fused into one node; nothing is folded."));
    if (which == Which::B) add(tr("alone"), {}, tr("The first model alone."));
    add(tr("a file…"), kAsk, tr("The model of another file, with the open model's inputs."));
    connect(this, &QComboBox::activated, this, [this] {
      if (currentData().toString() != kAsk) return choose(currentData().toString().toStdString());
      setSide(side_);  // until a file is chosen
      askForFile(this,
                 {objectName() + QStringLiteral("Dialog"), tr("Measure the model of a file"), modelFilters(),
                  folderOf(session_->path())},
                 [this](const QString& path) { choose(path.toStdString()); });
    });
  }
  [[nodiscard]] const std::string& side() const { return side_; }
  void setSide(const std::string& side) {
    side_ = side;
    if (findData(text(side)) < 0) {
      insertItem(count() - 1, sideName(side), text(side));
      setItemData(count() - 2, text(side), Qt::ToolTipRole);
    }
    setCurrentIndex(findData(text(side)));
  }

 Q_SIGNALS:
  void chosen();  // by the user

 private:
  void choose(const std::string& side) {
    setSide(side);
    Q_EMIT chosen();
  }

  Session* session_;  // Not owned.
  std::string side_;
};

BenchBar::BenchBar(Session* session, QWidget* parent) : QWidget(parent), session_(session) {
  rows_ = makeRow(this, 6, {16, 5, 12, 5});
  row_ = makeRow(nullptr, 6);
  rows_->addLayout(row_);
  room_ = new RoomSteps(this);
  const auto button = [&](const QString& words, const char* name, const QString& tip) {
    auto* made = describe(new PushButton(words, PushButton::Look::Outlined, this), name, tip);
    row_->addWidget(made);
    return made;
  };
  start_ = button(tr("Measure"), "benchStart", tr("Run both models in alternating rounds and time them."));
  stop_ = button(tr("Stop"), "benchStop", tr("Stop; the results so far are kept."));
  buildSides();
  row_->addStretch(0);
  row_ = makeRow(nullptr, 6);
  rows_->addLayout(row_, 1);
  buildCounts();
  buildChoices();
  row_->addStretch(0);
  connect(start_, &QPushButton::clicked, this, [this] {
    apply();
    session_->measure();
  });
  connect(stop_, &QPushButton::clicked, session_, &Session::cancel);
  connect(session_->measurements(), &Measurements::paramsChanged, this, &BenchBar::fill);
  connect(session_->measurements(), &Measurements::paramsChanged, this, &BenchBar::showState);
  connect(session_->engine(), &EngineClient::stateChanged, this, &BenchBar::showState);
  for (const auto signal :
       {&Session::foldChanged, &Session::jobChanged, &Session::analysisChanged, &Session::modelChanged}) {
    connect(session_, signal, this, &BenchBar::showState);
  }
  fill();
  showState();
}

void BenchBar::giveWay() {
  room_->add([this](bool taken) { until_->setText(taken ? tr("±2%") : tr("until ±2%")); });
  // The models over the counts, not beside them.
  room_->add([this](bool taken) { rows_->setDirection(taken ? QBoxLayout::TopToBottom : QBoxLayout::LeftToRight); });
  room_->add([this](bool taken) {
    narrow_ = taken;
    showCounts();
  });
  room_->add([this](bool taken) { until_->setVisible(!taken); });
}

// In a narrow window the numbers stand alone.
void BenchBar::showCounts() {
  const auto show = [this](QSpinBox* field, const QString& one, const QString& many, int width) {
    field->setSuffix(narrow_ ? QString() : u' ' + (field->value() == 1 ? one : many));
    field->setFixedWidth(grown(narrow_ ? 60 : width));  // of the largest count
  };
  show(rounds_, tr("round"), tr("rounds"), 100);
  show(iterations_, tr("run"), tr("runs"), 88);
  sweep_->setMinimumWidth(grown(narrow_ ? 60 : 120));
  sweep_->setPlaceholderText(narrow_ ? tr("vary") : tr("vary: seq=1,64"));
}

void BenchBar::buildCounts() {
  const auto spin = [&](const char* name, const QString& tip) {
    auto* field = describe(new QSpinBox(this), name, tip, tip);
    field->setRange(1, kMostCount);
    field->setButtonSymbols(QAbstractSpinBox::NoButtons);
    field->setAlignment(Qt::AlignRight);
    row_->addWidget(field);
    connect(field, &QSpinBox::valueChanged, this, &BenchBar::showCounts);
    connect(field, &QSpinBox::editingFinished, this, &BenchBar::apply);
    return field;
  };
  rounds_ = spin("benchRounds", tr("Rounds of A B B A. More rounds narrow the interval."));
  iterations_ = spin("benchIterations", tr("Runs in each of the four parts of a round."));
  const QString varied =
      tr("What to vary: NAME=VALUE,VALUE separated by spaces; NAME is batch, seq, dtype, device or norm.");
  until_ = describe(new QCheckBox(tr("until ±2%"), this), "benchUntil",
                    tr("Stop as soon as the 95% interval of the speed-up is within 2%, after at most so many rounds."));
  row_->addWidget(until_);
  connect(until_, &QCheckBox::clicked, this, [this](bool on) {
    if (on) rounds_->setValue(std::max(rounds_->value(), kRoundsUntilSure));
    apply();
  });
  sweep_ = describe(new QLineEdit(this), "benchSweep", varied, varied);
  const QString example = tr("seq=64,256 dtype=float32,bfloat16");
  sweep_->setToolTip(varied + u'\n' + example);
  followText(sweep_, [this] {
    sweep_->setMaximumWidth(grown(300));
    showCounts();
  });
  row_->addWidget(sweep_, 1);
  connect(sweep_, &QLineEdit::editingFinished, this, &BenchBar::apply);
  connect(sweep_, &QLineEdit::returnPressed, this, [this] {
    if (session_->canMeasure()) start_->click();
  });
}

void BenchBar::buildChoices() {
  const auto combo = [&](const char* name, const QString& tip, int letters) {
    auto* field = describe(makeNameChoice(letters, this), name, tip, tip);
    field->setSizePolicy(QSizePolicy::Fixed, QSizePolicy::Fixed);
    row_->addWidget(field);
    return field;
  };
  device_ = combo("benchDevice", tr("Where the models run."), kDeviceLetters);
  device_->addItem(tr("CPU"), QStringLiteral("cpu"));
  device_->addItem(tr("CUDA"), QStringLiteral("cuda"));
  type_ = combo("benchType", tr("Type of the weights and of floating inputs."), kTypeLetters);
  type_->addItem(tr("file's type"), QString());
  for (const char* name : {"float32", "float16", "bfloat16", "float64"}) {
    type_->addItem(QLatin1String(name), QLatin1String(name));
  }
  for (QComboBox* field : {device_, type_}) connect(field, &QComboBox::activated, this, &BenchBar::apply);
  graphs_ = describe(new QCheckBox(tr("Graphs"), this), "benchGraphs",
                     tr("CUDA graphs: record a run once and replay it, which saves the kernel launches."));
  row_->addWidget(graphs_);
  connect(graphs_, &QCheckBox::clicked, this, &BenchBar::apply);
}

void BenchBar::buildSides() {
  const auto add = [&](SideChoice::Which which, const char* name, const QString& tip) {
    auto* side = describe(new SideChoice(session_, which, this), name, tip, tip);
    row_->addWidget(side);
    connect(side, &SideChoice::chosen, this, &BenchBar::apply);
    return side;
  };
  a_ = add(SideChoice::Which::A, "benchA", tr("The first model, A."));
  row_->addWidget(makeLabel(tr("vs"), "soft", this));
  b_ = add(SideChoice::Which::B, "benchB", tr("The second model, B, which is compared with A."));
}

void BenchBar::fill() {
  filling_ = true;
  const protocol::BenchParams& params = session_->measurements()->params();
  rounds_->setValue(params.rounds);
  iterations_->setValue(params.iterations);
  until_->setChecked(params.until_percent > 0);
  QStringList sweeps;
  for (const std::string& sweep : params.sweep) sweeps << text(sweep);
  sweep_->setText(sweeps.join(u' '));
  device_->setCurrentIndex(std::max(0, device_->findData(text(params.device))));
  type_->setCurrentIndex(std::max(0, type_->findData(text(params.dtype))));
  graphs_->setChecked(params.cuda_graph);
  a_->setSide(params.a);
  b_->setSide(params.b);
  filling_ = false;
}

void BenchBar::apply() {
  if (filling_) return;
  protocol::BenchParams params = session_->measurements()->params();
  params.rounds = rounds_->value();
  params.iterations = iterations_->value();
  params.until_percent = until_->isChecked() ? kUntilPercent : 0;
  params.sweep.clear();
  for (const QString& sweep : sweep_->text().split(u' ', Qt::SkipEmptyParts)) {
    params.sweep.push_back(sweep.toStdString());
  }
  params.device = device_->currentData().toString().toStdString();
  params.dtype = type_->currentData().toString().toStdString();
  params.cuda_graph = graphs_->isChecked() && params.device == "cuda";
  params.a = a_->side();
  params.b = b_->side();
  session_->measurements()->setParams(params);
}

void BenchBar::showState() {
  const bool measuring = session_->job().kind == JobKind::Measuring;
  start_->setVisible(!measuring);
  stop_->setVisible(measuring);
  start_->setEnabled(session_->canMeasure() && session_->engine()->state() != EngineClient::State::Dead);
  for (QWidget* field : std::initializer_list<QWidget*>{rounds_, iterations_, until_, sweep_, device_, type_, a_, b_}) {
    field->setEnabled(!measuring);
  }
  const bool onCuda = session_->measurements()->params().device == "cuda";
  const Devices devices = devicesOf(*session_->engine());
  const bool hasGpu = !devices.gpu.isEmpty();
  graphs_->setVisible(hasGpu || onCuda);
  graphs_->setEnabled(hasGpu && onCuda && !measuring);
  qobject_cast<QStandardItemModel*>(device_->model())->item(1)->setEnabled(hasGpu);
  device_->setToolTip(hasGpu ? device_->accessibleName() : device_->accessibleName() + u'\n' + devices.missing);
}

}  // namespace normlens::ui

#include "bench_bar.moc"
