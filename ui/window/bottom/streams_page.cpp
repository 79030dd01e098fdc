#include "ui/window/bottom/streams_page.h"

#include <QFileInfo>
#include <QLabel>
#include <QPushButton>
#include <QScrollArea>
#include <QStackedLayout>
#include <array>

#include "ui/session/jobs/streams.h"
#include "ui/session/session.h"
#include "ui/session/words/format.h"
#include "ui/session/words/stream_text.h"
#include "ui/widgets/badge.h"
#include "ui/widgets/property_list.h"
#include "ui/widgets/push_button.h"
#include "ui/widgets/segmented.h"
#include "ui/window/parts.h"

namespace normlens::ui {

namespace {

constexpr std::array kPaddings = {"none", "even", "64"};

// A column of the page, behind those before it.
QVBoxLayout* addColumn(QHBoxLayout* row, const QString& title, int share) {
  QWidget* body = row->parentWidget();
  if (row->count() > 0) row->addWidget(makeLine(Qt::Vertical, body));
  auto* column = makeColumn(nullptr, 6);
  row->addLayout(column, share);
  column->addWidget(makeLabel(title, "section", body));
  return column;
}

template <class Widget>
Widget* add(QVBoxLayout* column, Widget* widget) {
  column->addWidget(widget);
  return widget;
}

QVector<Property> proofFacts(const protocol::NarrowResult& result) {
  QVector<Property> facts;
  for (const auto& condition : result.holds_if)
    facts.push_back({StreamsPage::tr("holds if"), text(condition.text), text(condition.tested), true});
  if (!result.verify) return facts;
  const auto& proof = *result.verify;
  const auto add = [&](const QString& name, const protocol::ErrorPair& error) {
    facts.push_back({name, formatError(error.max_rel),
                     StreamsPage::tr("Largest relative difference; allowed: %1.").arg(formatError(error.limit)), true});
  };
  if (proof.algebra_done) add(StreamsPage::tr("difference in float64"), proof.algebra);
  if (proof.file_done) add(StreamsPage::tr("file, in %1").arg(text(proof.file_dtype)), proof.file);
  for (const std::string& why : {proof.algebra_reason, proof.file_reason}) {
    if (!why.empty()) facts.push_back({StreamsPage::tr("not compared"), asSentence(text(why)), asSentence(text(why))});
  }
  return facts;
}

void setWords(QLabel* label, const QString& words) {
  label->setText(words);
  label->setVisible(!words.isEmpty());
}

}  // namespace

StreamsPage::StreamsPage(Session* session, QWidget* parent)
    : QWidget(parent), session_(session), streams_(session->streams()) {
  auto* stack = new QStackedLayout(this);
  empty_ = makeNotice(this);
  auto* scroll = new QScrollArea(this);
  scroll->setWidgetResizable(true);
  scroll->setFrameShape(QFrame::NoFrame);
  filled_ = scroll;
  auto* body = new QWidget(scroll);
  scroll->setWidget(body);
  auto* row = makeRow(body, 20, {16, 12, 16, 12});
  buildFold(row);
  buildStreams(row);
  buildSaving(row);
  buildResult(row);
  stack->addWidget(empty_);
  stack->addWidget(filled_);
  connect(streams_, &Streams::changed, this, &StreamsPage::showAll);
  for (const auto signal : {&Session::planChanged, &Session::modelChanged})
    connect(session_, signal, this, &StreamsPage::showAll);
  showAll();
}

void StreamsPage::buildFold(QHBoxLayout* columns) {
  QWidget* body = columns->parentWidget();
  QVBoxLayout* column = addColumn(columns, tr("1  Pre-RMSNorm"), 5);
  fold_ = describe(add(column, makeWords("soft", body)), "streamFold");
  foldFacts_ = add(column, new PropertyList(body));
  column->addStretch(1);
}

void StreamsPage::buildStreams(QHBoxLayout* columns) {
  QWidget* body = columns->parentWidget();
  QVBoxLayout* column = addColumn(columns, tr("2  Pre-CRMSNorm"), 6);
  column->addWidget(makeWords("soft", body,
                              tr("Residual streams lose one channel: d → d − 1. Their sum is 0, so the last channel is "
                                 "minus the sum of the others, and need not be kept.")));
  streamWords_ = describe(add(column, makeWords("body", body)), "streamWords");
  streamList_ = describe(add(column, new PropertyList(body)), "streamList");
  column->addStretch(1);
}

void StreamsPage::buildSaving(QHBoxLayout* columns) {
  QWidget* body = columns->parentWidget();
  QVBoxLayout* column = addColumn(columns, tr("Beside the original"), 7);
  auto* row = makeRow(nullptr, 8);
  QLabel* label = makeLabel(tr("Padding"), "fact", body);
  padding_ = new Segmented({{tr("None"), tr("d − 1 channels: odd where d is even, which few kernels like.")},
                            {tr("Even"), tr("Widened with a zero to the next even number of channels.")},
                            {tr("× 64"), tr("Widened with zeros to the next multiple of 64 channels.")}},
                           body);
  describe(padding_, "streamPadding", {}, tr("Padding of narrow streams"));
  padding_->setSnug(true);
  row->addWidget(label);
  row->addWidget(padding_);
  row->addStretch(1);
  column->addLayout(row);
  saving_ = describe(add(column, new PropertyList(body)), "streamSaving");
  savingWords_ = add(column, makeWords("faint", body));
  column->addStretch(1);
  connect(padding_, &Segmented::chosen, this,
          [this](int index) { streams_->setPadding(kPaddings.at(static_cast<size_t>(index))); });
}

void StreamsPage::buildResult(QHBoxLayout* columns) {
  QWidget* body = columns->parentWidget();
  QVBoxLayout* column = addColumn(columns, tr("Narrowed model"), 6);
  auto* row = makeRow(nullptr, 8);
  write_ = describe(new PushButton(tr("Write narrowed model…"), PushButton::Look::Outlined, body), "writeNarrow",
                    tr("Fold the model with narrow streams, prove it, and write it to a file."));
  write_->setIconName(QStringLiteral("export"));
  row->addWidget(write_);
  row->addStretch(1);
  column->addLayout(row);
  badge_ = describe(new Badge(body), "narrowBadge");
  column->addWidget(badge_, 0, Qt::AlignLeft);
  words_ = describe(add(column, makeWords("soft", body)), "narrowWords");
  proof_ = describe(add(column, new PropertyList(body)), "narrowProof");
  anyway_ = addButton(column, "secondary", tr("Write anyway…"), "narrowAnyway",
                      tr("Write the narrowed model although it is not proved equal to the original."));
  column->setAlignment(anyway_, Qt::AlignLeft);
  column->addStretch(1);
  connect(write_, &QPushButton::clicked, this, [this] { askForFile(false); });
  connect(anyway_, &QPushButton::clicked, this, [this] { askForFile(true); });
}

void StreamsPage::showEvent(QShowEvent* event) {
  QWidget::showEvent(event);
  streams_->setWatched(true);
}

void StreamsPage::hideEvent(QHideEvent* event) {
  QWidget::hideEvent(event);
  streams_->setWatched(false);
}

void StreamsPage::askForFile(bool force) {
  const QFileInfo model(session_->path());
  const FileQuestion question{QStringLiteral("narrowDialog"), tr("Write the narrowed model"),
                              exportFilters(model.suffix()), model.absolutePath(),
                              model.completeBaseName() + QStringLiteral(".narrow")};
  ui::askForFile(this, question, [this, force, asked = session_->path()](const QString& path) {
    if (asked == session_->path()) session_->narrowTo(path, force);  // else the name is of another model
  });
}

void StreamsPage::showAll() {
  const bool some = session_->analysis() && session_->analysis()->totals.layer_norms > 0;
  empty_->setText(!session_->analysis() ? tr("Residual streams come after the analysis.")
                                        : tr("There is no LayerNorm in this model."));
  static_cast<QStackedLayout*>(layout())->setCurrentWidget(some ? filled_ : static_cast<QWidget*>(empty_));
  if (!some) return;
  showFold();
  showStreams();
  showSaving();
  showResult();
}

void StreamsPage::showFold() {
  const auto& plan = session_->plan();
  setWords(fold_, plan ? foldWords(*plan) : tr("The plan is being made."));
  QVector<Property> facts;
  if (plan) {
    facts = {{tr("become RMSNorms"), tr("%1 of %2").arg(plan->folded.size()).arg(plan->layer_norms),
              tr("By the plan: it is the same fold that Export writes.")},
             {tr("tensors centered"), QString::number(plan->tensors_centered), {}},
             {tr("centerings at run time"), QString::number(plan->centerings), {}}};
  }
  foldFacts_->setProperties(facts);
}

void StreamsPage::showStreams() {
  const auto& report = streams_->report();
  setWords(streamWords_, report ? asSentence(text(report->reason)) : streams_->problem());
  setKind(streamWords_, report ? "body" : "error");
  QVector<Property> rows;
  if (report) {
    for (const auto& stream : report->streams)
      rows << Property{streamName(stream), streamFacts(stream), streamTip(stream)};
  }
  streamList_->setProperties(rows);
}

void StreamsPage::showSaving() {
  const auto& report = streams_->report();
  const bool known = report && report->reason.empty();
  QVector<Property> rows;
  if (known) {
    const auto add = [&](const QString& name, const protocol::StreamFigures& of, bool bytes) {
      rows << Property{name, savingWords(of), savingTip(of, bytes)};
    };
    add(tr("operations of the norms"), report->norm_flops, false);
    add(tr("of linears at the streams"), report->linear_flops, false);
    add(tr("bytes of the streams"), report->stream_bytes, true);
    add(tr("bytes of all weights"), report->weight_bytes, true);
  }
  saving_->setProperties(rows);
  setWords(savingWords_, known    ? tr("RMSNorm alone, then narrow; of one pass on the inputs.")
                         : report ? tr("Nothing is saved: no stream is narrowed.")
                                  : QString());
}

void StreamsPage::showResult() {
  const QString obstacle = streams_->obstacle();
  const bool narrowing = session_->job().kind == JobKind::Narrowing;
  const auto& result = streams_->result();
  write_->setEnabled(obstacle.isEmpty());
  const bool refused = result && !result->written && result->verify;
  anyway_->setVisible(refused);
  anyway_->setEnabled(obstacle.isEmpty());
  proof_->setProperties(result && !narrowing ? proofFacts(*result) : QVector<Property>());
  badge_->setVisible(result && !narrowing && result->verify);
  if (result && result->verify) {
    const auto& exact = result->verify->exact;
    badge_->set(!exact   ? Badge::Tone::Neutral
                : *exact ? Badge::Tone::Good
                         : Badge::Tone::Blocked,
                QLatin1String(!exact   ? "info"
                              : *exact ? "verify"
                                       : "blocked"),
                !exact   ? tr("Not decided")
                : *exact ? tr("Exact")
                         : tr("Not exact"));
  }
  const auto& report = streams_->report();
  QString words = report && !report->reason.empty() ? tr("There is no narrowed model to write.") : obstacle;
  if (narrowing) {
    words = session_->job().stage.isEmpty() ? tr("Narrowing. Esc stops it.")
                                            : tr("Narrowing: %1. Esc stops it.").arg(session_->job().stage);
  } else if (result) {
    words = resultWords(*result);
  }
  setWords(words_, words);
}

}  // namespace normlens::ui
