#include "ui/window/bottom/pages.h"

#include <QFileInfo>
#include <QPushButton>
#include <array>

#include "ui/session/session.h"
#include "ui/session/streams.h"
#include "ui/widgets/badge.h"
#include "ui/widgets/property_list.h"
#include "ui/widgets/push_button.h"
#include "ui/widgets/segmented.h"
#include "ui/window/bottom/columns_page.h"
#include "ui/words/format.h"
#include "ui/words/stream_text.h"

namespace normlens::ui {
namespace {

constexpr std::array kPaddings = {"none", "even", "64"};

template <class Widget>
Widget* add(QVBoxLayout* column, Widget* widget) {
  column->addWidget(widget);
  return widget;
}

QVector<Property> proofFacts(const protocol::NarrowResult& result) {
  QVector<Property> facts;
  for (const auto& condition : result.holds_if)
    facts.push_back({QObject::tr("holds if"), text(condition.text), text(condition.tested), true});
  if (!result.verify) return facts;
  const auto& proof = *result.verify;
  const auto add = [&](const QString& name, const protocol::ErrorPair& error) {
    facts.push_back({name, formatError(error.max_rel),
                     QObject::tr("Largest relative difference; allowed: %1.").arg(formatError(error.limit)), true});
  };
  if (proof.algebra_done) add(QObject::tr("difference in float64"), proof.algebra);
  if (proof.file_done) add(QObject::tr("file, in %1").arg(text(proof.file_dtype)), proof.file);
  for (const std::string& why : {proof.algebra_reason, proof.file_reason}) {
    if (!why.empty()) facts.push_back({QObject::tr("not compared"), asSentence(text(why)), asSentence(text(why))});
  }
  return facts;
}

void setWords(QLabel* label, const QString& words) {
  label->setText(words);
  label->setVisible(!words.isEmpty());
}

// Residual streams that lose a channel (paper 003): what folds already, which streams can be narrowed or why not, what
// that saves, and the narrow model written to a file with its proof.
class StreamsPage final : public ColumnsPage {
 public:
  StreamsPage(Session* session, QWidget* parent)
      : ColumnsPage(20, parent), session_(session), streams_(session->streams()) {
    // Two and two below each other: four columns would be too narrow for their names beside the targets.
    QVBoxLayout *kinds = addColumn(tr("1  Pre-RMSNorm"), 6), *made = addColumn(tr("Compared with the original"), 6);
    buildFold(kinds);
    buildStreams(kinds);
    buildSaving(made);
    buildResult(made);
    for (QVBoxLayout* column : {kinds, made}) column->addStretch(1);
    connect(streams_, &Streams::changed, this, &StreamsPage::showAll);
    for (const auto signal : {&Session::planChanged, &Session::modelChanged})
      connect(session_, signal, this, &StreamsPage::showAll);
    showAll();
  }

 protected:
  void showEvent(QShowEvent* event) override {
    QWidget::showEvent(event);
    streams_->setWatched(true);
  }
  void hideEvent(QHideEvent* event) override {
    QWidget::hideEvent(event);
    streams_->setWatched(false);
  }

 private:
  void buildFold(QVBoxLayout* column) {
    fold_ = describe(add(column, makeWords("soft", body())), "streamFold");
    foldFacts_ = describe(add(column, new PropertyList(body())), "streamFoldFacts");
  }
  void buildStreams(QVBoxLayout* column) {
    addTitle(column, tr("2  Pre-CRMSNorm"));
    column->addWidget(
        makeWords("soft", body(),
                  tr("Residual streams lose one channel: d → d − 1. Their channels sum to 0, so after a rotation the "
                     "last one is 0 and can be dropped. An RMSNorm then normalizes the others.")));
    streamWords_ = describe(add(column, makeWords("body", body())), "streamWords");
    streamList_ = describe(add(column, new PropertyList(body())), "streamList");
  }
  void buildSaving(QVBoxLayout* column) {
    auto* row = makeRow(nullptr, 8);
    QLabel* label = makeLabel(tr("Padding"), "fact", body());
    padding_ = new Segmented({{tr("None"), tr("d − 1 channels: odd where d is even, which few kernels handle well.")},
                              {tr("Even"), tr("Widened with a zero to the next even number of channels.")},
                              {tr("× 64"), tr("Widened with zeros to the next multiple of 64 channels.")}},
                             body());
    describe(padding_, "streamPadding", {}, tr("Padding of narrow streams"));
    padding_->setSnug(true);
    row->addWidget(label);
    row->addWidget(padding_);
    row->addStretch(1);
    column->addLayout(row);
    saving_ = describe(add(column, new PropertyList(body())), "streamSaving");
    savingWords_ = add(column, makeWords("faint", body()));
    connect(padding_, &Segmented::chosen, this,
            [this](int index) { streams_->setPadding(kPaddings.at(static_cast<size_t>(index))); });
  }
  void buildResult(QVBoxLayout* column) {
    addTitle(column, tr("Narrow model"));
    auto* row = makeRow(nullptr, 8);
    write_ = describe(new PushButton(tr("Export narrow model…"), PushButton::Look::Outlined, body()), "writeNarrow",
                      tr("Fold the model with narrow streams, prove it and write it to a file."));
    write_->setIconName(QStringLiteral("export"));
    row->addWidget(write_);
    row->addStretch(1);
    column->addLayout(row);
    badge_ = describe(new Badge(body()), "narrowBadge");
    column->addWidget(badge_, 0, Qt::AlignLeft);
    words_ = describe(add(column, makeWords("soft", body())), "narrowWords");
    proof_ = describe(add(column, new PropertyList(body())), "narrowProof");
    anyway_ = addButton(column, "secondary", tr("Write anyway…"), "narrowAnyway",
                        tr("Write the narrow model although it is not proved equal to the original."));
    column->setAlignment(anyway_, Qt::AlignLeft);
    connect(write_, &QPushButton::clicked, this, [this] { askForFile(false); });
    connect(anyway_, &QPushButton::clicked, this, [this] { askForFile(true); });
  }
  // Asks where to write the narrow model.
  void askForFile(bool force) {
    const QFileInfo model(session_->path());
    const FileQuestion question{QStringLiteral("narrowDialog"), tr("Write the narrow model"),
                                exportFilters(model.suffix()), model.absolutePath(),
                                model.completeBaseName() + QStringLiteral(".narrow")};
    ui::askForFile(this, question, [this, force, asked = session_->path()](const QString& path) {
      if (asked == session_->path()) session_->narrowTo(path, force);  // else the name is of another model
    });
  }
  void showAll() {
    const bool some = session_->analysis() && session_->analysis()->totals.layer_norms > 0;
    notice()->setText(!session_->analysis() ? tr("Waiting for the analysis.") : tr("No LayerNorms here."));
    showColumns(some);
    if (!some) return;
    showFold();
    showStreams();
    showSaving();
    showResult();
  }
  void showFold() {
    const auto& plan = session_->plan();
    setWords(fold_, plan ? foldWords(*plan) : tr("Planning."));
    QVector<Property> facts;
    if (plan) {
      facts = {{tr("become RMSNorms"), tr("%1 of %2").arg(plan->folded.size()).arg(plan->layer_norms),
                tr("The plan's fold, which Export writes too.")},
               {tr("tensors centered"), QString::number(plan->tensors_centered), {}},
               {tr("centerings at run time"), QString::number(plan->centerings), {}}};
    }
    foldFacts_->setProperties(facts);
  }
  void showStreams() {
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
  void showSaving() {
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
    setWords(savingWords_, known    ? tr("RMSNorm alone, then narrow streams; for one run on the inputs.")
                           : report ? tr("Nothing to save: no stream can be narrow.")
                                    : QString());
  }
  void showResult() {
    const QString obstacle = streams_->obstacle();
    const bool narrowing = session_->job().kind == JobKind::Narrowing;
    const auto& result = streams_->result();
    write_->setEnabled(obstacle.isEmpty());
    const bool refused = result && !result->written && result->verify;
    anyway_->setVisible(refused);
    anyway_->setEnabled(obstacle.isEmpty());
    proof_->setProperties(result && !narrowing ? proofFacts(*result) : QVector<Property>());
    badge_->setVisible(result && !narrowing && result->verify);
    if (result && result->verify) ui::showProof(badge_, *result->verify);
    const auto& report = streams_->report();
    QString words = report && !report->reason.empty() ? tr("There is no narrow model to write.") : obstacle;
    if (narrowing) {
      words = session_->job().stage.isEmpty() ? tr("Narrowing. Esc stops it.")
                                              : tr("Narrowing: %1. Esc stops it.").arg(session_->job().stage);
    } else if (result) {
      words = resultWords(*result);
    }
    setWords(words_, words);
  }

  Session* session_;  // Not owned.
  Streams* streams_;  // Not owned: of the session.
  QLabel* fold_;
  PropertyList* foldFacts_;
  Segmented* padding_;
  QLabel* streamWords_;
  PropertyList* streamList_;
  PropertyList* saving_;
  QLabel* savingWords_;
  PushButton* write_;
  QPushButton* anyway_;
  QLabel* words_;
  Badge* badge_;
  PropertyList* proof_;
};

}  // namespace

QWidget* makeStreamsPage(Session* session, QWidget* parent) { return new StreamsPage(session, parent); }

}  // namespace normlens::ui
