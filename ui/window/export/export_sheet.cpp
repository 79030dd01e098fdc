#include "ui/window/export/export_sheet.h"

#include <QAbstractButton>
#include <QButtonGroup>
#include <QCheckBox>
#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QLineEdit>
#include <QPushButton>
#include <QScrollArea>
#include <QShortcut>
#include <QStackedWidget>
#include <algorithm>

#include "core/protocol/methods.h"
#include "core/protocol/proof_text.h"
#include "ui/client/engine_client.h"
#include "ui/client/placed_file.h"
#include "ui/session/report_run.h"
#include "ui/session/session.h"
#include "ui/widgets/badge.h"
#include "ui/widgets/follow_text.h"
#include "ui/widgets/icon_button.h"
#include "ui/widgets/property_list.h"
#include "ui/widgets/push_button.h"
#include "ui/window/bottom/columns_page.h"
#include "ui/window/bottom/pages.h"
#include "ui/window/export/code_box.h"
#include "ui/window/export/snippets.h"
#include "ui/window/frame/far_file_dialog.h"
#include "ui/window/frame/story.h"
#include "ui/window/parts.h"
#include "ui/words/format.h"

namespace normlens::ui {

namespace {

constexpr int kList = 264, kNarrowList = 200, kWide = 920;

std::vector<protocol::InputSpec> inputsOf(const Session& session) {
  if (session.analysis() && !session.analysis()->inputs.empty()) return session.analysis()->inputs;
  protocol::InputSpec unknown;
  unknown.name = "x";
  return {unknown};
}

// The runtime that the engine checks a file of this format in.
QString checkedIn(const Session& session) {
  const protocol::EngineInfo& engine = session.engine()->info();
  return session.model()->format == "onnx" ? ExportSheet::tr("ONNX Runtime %1").arg(text(engine.onnx_runtime))
                                           : ExportSheet::tr("torch %1").arg(text(engine.torch));
}

// A name that is too long for the button loses its middle.
QString shownName(const QString& name, bool wide) {
  const qsizetype half = wide ? 18 : 9;
  return name.size() <= 2 * half + 1 ? name : name.first(half) + u'…' + name.last(half);
}

QString reportBeside(const QString& path) {
  const QFileInfo file(path);
  return file.dir().filePath(file.completeBaseName() + QStringLiteral(".report.html"));
}

// "torch 2.15.0, 2026-11-30": the day as the window writes it.
QString ranWith(const std::string& source) {
  QStringList runs = text(source).split(QStringLiteral("; "));
  for (QString& run : runs) {
    const QDate day = QDate::fromString(run.section(QStringLiteral(", "), -1), Qt::ISODate);
    if (day.isValid()) run = ExportSheet::tr("%1 on %2").arg(run.section(QStringLiteral(", "), 0, -2), formatDate(day));
  }
  return runs.join(QStringLiteral("; "));
}

// What is known of a target, a sentence each.
QString aboutTarget(const protocol::TargetInfo& target) {
  QStringList lines;
  if (!target.speed.empty())
    lines << (target.speed.starts_with("not measured") ? ExportSheet::tr("Speed there: %1").arg(text(target.speed))
                                                       : ExportSheet::tr("Fast there: %1").arg(text(target.speed)));
  if (!target.limits.empty()) lines << ExportSheet::tr("Limits: %1").arg(text(target.limits));
  lines << (target.ran ? ExportSheet::tr("NormLens's own tests ran folded files with %1.").arg(ranWith(target.source))
                       : ExportSheet::tr("NormLens does not run files there. Known from: %1").arg(text(target.source)));
  for (QString& line : lines) line = asSentence(line);
  return lines.join(u'\n');
}

}  // namespace

ExportSheet::ExportSheet(Session* session, QWidget* parent)
    : QFrame(parent),
      session_(session),
      targetsQuestion_(session->engine(), this),
      thereQuestion_(session->engine(), this) {
  describe(this, "exportSheet", {}, tr("Export"));
  auto* column = makeColumn(this);
  QFrame* head = makeBar(QStringLiteral("panelHeader"), 36, this);
  layoutOf(head)->setContentsMargins(20, 0, 12, 0);
  layoutOf(head)->addWidget(makeLabel(tr("Export"), "title", head));
  layoutOf(head)->addSpacing(12);
  layoutOf(head)->addWidget(makeLabel(tr("Choose where the folded model will run."), "soft", head));
  layoutOf(head)->addStretch(1);
  auto* close = describe(new IconButton(QStringLiteral("close"), {}, tr("Close (Esc)"), head), "exportClose");
  layoutOf(head)->addWidget(close);
  connect(close, &QToolButton::clicked, this, &ExportSheet::closed);
  column->addWidget(head);
  auto* middle = makeRow(nullptr);
  buildList(this);
  listArea_ = makeScrollArea(this, tr("Targets"), Qt::ScrollBarAlwaysOff);
  listArea_->setWidget(listBody_);
  middle->addWidget(listArea_);
  middle->addWidget(makeLine(Qt::Vertical, this));
  pages_ = new QStackedWidget(this);
  pages_->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Ignored);
  pages_->addWidget(makePage());
  pages_->addWidget(makeStreamsPage(session, pages_));
  middle->addWidget(pages_, 1);
  column->addLayout(middle, 1);
  column->addWidget(makeLine(Qt::Horizontal, this));
  column->addWidget(makeFoot());
  for (const auto signal : {&Session::planChanged, &Session::foldChanged, &Session::jobChanged,
                            &Session::analysisChanged, &Session::exportDone}) {
    connect(session_, signal, this, [this] {
      if (isVisible()) showAll();
    });
  }
  connect(session_, &Session::exportDone, this, &ExportSheet::exported);
  connect(session_, &Session::foldChanged, this, [this] { pullRequest_->setText({}); });
  connect(session_->report(), &ReportRun::made, this, [this](const QByteArray& made) {
    if (makePullRequest_->isEnabled()) return;  // it is of another page
    pullRequest_->setText(QString::fromUtf8(made));
    showAll();
  });
  connect(session_->report(), &ReportRun::changed, this, [this] {
    if (isVisible()) showAll();
  });
  connect(session_, &Session::analysisChanged, this, &ExportSheet::requestTargets);
  // Wherever the focus is: the window has no other use of these keys while the sheet is shown.
  auto* keys = new QShortcut(this);
  keys->setKeys({QKeySequence(Qt::CTRL | Qt::Key_Return), QKeySequence(Qt::CTRL | Qt::Key_Enter)});
  connect(keys, &QShortcut::activated, this, &ExportSheet::write);
  fillList();
}

void ExportSheet::buildList(QWidget* parent) {
  listBody_ = describe(new QWidget(parent), "exportTargets", {}, tr("Targets"));
  list_ = makeColumn(listBody_, 2, {8, 12, 8, 12});
  rows_ = new QButtonGroup(this);
  connect(rows_, &QButtonGroup::idClicked, this, &ExportSheet::choose);
}

QWidget* ExportSheet::makePage() {
  auto* area = makeScrollArea(this, tr("Selected target"), Qt::ScrollBarAlwaysOff);
  auto* body = describe(new QWidget(area), "exportPage");
  auto* page = makeColumn(body, 14, {20, 14, 20, 14});
  auto* title = makeRow(nullptr, 12);
  title_ = describe(makeLabel({}, "title", body), "exportTitle");
  badge_ = describe(new Badge(body), "exportBadge");
  source_ = makeLabel({}, "soft", body);
  title->addWidget(title_);
  title->addWidget(badge_);
  title->addStretch(1);
  title->addWidget(source_);
  page->addLayout(title);
  fileRow_ = new QWidget(body);
  auto* file = makeRow(fileRow_, 8);
  file->addWidget(makeLabel(tr("File"), "soft", fileRow_));
  file_ = describe(new QLineEdit(fileRow_), "exportFile", tr("The file to write."), tr("File"));
  file->addWidget(file_, 1);
  QPushButton* change = addButton(file, "secondary", tr("Change…"), "exportChange", tr("Choose another file."));
  connect(change, &QPushButton::clicked, this, &ExportSheet::askForPath);
  connect(file_, &QLineEdit::textChanged, this, &ExportSheet::showAll);
  connect(file_, &QLineEdit::textChanged, this, &ExportSheet::overwriteOver);
  connect(file_, &QLineEdit::textEdited, this, &ExportSheet::useFile);
  page->addWidget(fileRow_);
  exists_ = describe(makeWords("soft", body), "exportExists");
  page->addWidget(exists_);
  columns_ = makeRow(nullptr, 24);
  auto* facts = makeColumn(nullptr, 6);
  addFacts(facts, body);
  auto* texts = makeColumn(nullptr, 12);
  addTexts(texts, body);
  columns_->addLayout(facts, 5);
  columns_->addLayout(texts, 4);
  page->addLayout(columns_);
  page->addStretch(1);
  area->setWidget(body);
  return area;
}

void ExportSheet::addFacts(QVBoxLayout* column, QWidget* parent) {
  const auto addPart = [&](const QString& head, const char* name) {
    auto* part = describe(new QWidget(parent), name);
    makeColumn(part, 4)->addWidget(makeLabel(head, "section", part));
    column->addWidget(part);
    return part;
  };
  about_ = describe(makeWords("soft", parent), "exportAbout");
  column->addWidget(about_);
  column->addSpacing(6);
  written_ = addPart(tr("What is written"), "exportWritten");
  facts_ = new PropertyList(written_);
  written_->layout()->addWidget(facts_);
  column->addSpacing(6);
  proved_ = addPart(tr("Proved and checked for this file"), "exportProved");
  proof_ = new PropertyList(proved_);
  proofNote_ = describe(makeWords("soft", proved_), "exportProofNote");
  proved_->layout()->addWidget(proof_);
  proved_->layout()->addWidget(proofNote_);
  column->addSpacing(6);
  loaded_ = addPart(tr("What loads which norm"), "exportLoaded");
  loads_ = describe(makeWords("soft", loaded_), "exportLoads");
  loaded_->layout()->addWidget(loads_);
  column->addStretch(1);
}

void ExportSheet::addTexts(QVBoxLayout* column, QWidget* parent) {
  warningCard_ = describe(new QFrame(parent), "exportWarning");
  auto* warning = makeColumn(warningCard_, 2, {12, 10, 12, 10});
  warningTitle_ = makeWords("strong", warningCard_);
  warning_ = makeWords("soft", warningCard_);
  warning->addWidget(warningTitle_);
  warning->addWidget(warning_);
  column->addWidget(warningCard_);
  code_ = new CodeBox("exportCode", tr("Use it"), parent);
  column->addWidget(code_);
  pullRequestPart_ = new QWidget(parent);
  auto* part = makeColumn(pullRequestPart_, 4);
  pullRequest_ = new CodeBox("pullRequest", tr("Text for the pull request"), pullRequestPart_);
  part->addWidget(pullRequest_);
  auto* row = makeRow(nullptr);
  makePullRequest_ = addButton(row, "secondary", tr("Make the text for a pull request"), "makePullRequest",
                               tr("Compare both models once more and write the result as Markdown."));
  row->addStretch(1);
  part->addLayout(row);
  connect(makePullRequest_, &QPushButton::clicked, this, &ExportSheet::makePullRequestText);
  column->addWidget(pullRequestPart_);
  column->addStretch(1);
}

QWidget* ExportSheet::makeFoot() {
  QFrame* foot = makeBar(QStringLiteral("exportFoot"), 52, this);
  layoutOf(foot)->setContentsMargins(20, 0, 16, 0);
  alsoReport_ = describe(new QCheckBox(tr("Also write the report"), foot), "exportAlsoReport",
                         tr("Write a page about the fold next to the file, with pictures of the graph."));
  connect(alsoReport_, &QCheckBox::toggled, this, &ExportSheet::showAll);
  layoutOf(foot)->addWidget(alsoReport_);
  layoutOf(foot)->addStretch(1);
  foot_ = describe(makeWords("soft", foot), "exportFootWords");
  foot_->setAlignment(Qt::AlignRight | Qt::AlignVCenter);
  foot_->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);  // they give way to the button
  layoutOf(foot)->addWidget(foot_, 100);
  layoutOf(foot)->addSpacing(12);
  write_ = describe(new PushButton({}, PushButton::Look::Filled, foot), "exportWrite");
  layoutOf(foot)->addWidget(write_);
  connect(write_, &QPushButton::clicked, this, &ExportSheet::write);
  return foot;
}

void ExportSheet::open(Kind kind) {
  wantedKind_ = kind;
  requestTargets();
  const auto wanted = std::ranges::find_if(places_, [&](const Place& each) {
    return each.kind == kind && (kind != Kind::Target || each.target.norm == session_->flavour());
  });
  choose(wanted == places_.end() ? 0 : static_cast<int>(wanted - places_.begin()));
  if (QAbstractButton* row = rows_->button(chosen_)) row->setFocus(Qt::OtherFocusReason);
}

// The list is the engine's: which norm each target loads depends on the format.
void ExportSheet::requestTargets() {
  if (!session_->model() || !session_->served() || listedFor_ == session_->path()) return;
  listedFor_ = session_->path();
  typed_.clear();
  targets_.clear();
  loads_->clear();
  fillList();
  targetsQuestion_.ask(protocol::methods::kTargets, {}, [this](const Reply<protocol::Targets>& reply) {
    if (!reply) return listedFor_.clear();
    targets_ = reply->targets;
    loads_->setText(whatLoads());  // which names each by its own norm
    // Targets that take the same file share one fold and its proof.
    for (protocol::TargetInfo& target : targets_)
      target.norm = std::ranges::find(targets_, target.operators, &protocol::TargetInfo::operators)->norm;
    fillList();
    if (!isHidden()) open(wantedKind_);
  });
}

void ExportSheet::fillList() {
  places_.clear();
  while (QLayoutItem* item = list_->takeAt(0)) {
    delete item->widget();
    delete item;
  }
  addHead(tr("Run it"));
  for (const protocol::TargetInfo& target : targets_)
    addPlace({Kind::Target, target}, text(target.title),
             target.ran ? text(target.operators) : tr("%1 · not run here").arg(text(target.operators)));
  addPlace({Kind::Streams, {}}, tr("Narrow streams"), tr("a channel less in each residual stream"));
  addHead(tr("By Python"));
  addPlace({Kind::Module, {}}, tr("A module in memory"), tr("normlens.fold, no file"));
  addPlace({Kind::Folder, {}}, tr("Hugging Face folder"), tr("a checkpoint, by a command"));
  addHead(tr("Share it"));
  addPlace({Kind::Report, {}}, tr("Report"), tr("one page, with pictures"));
  list_->addStretch(1);
  // The rows are newer than what stands beside them, and come before it.
  QWidget* before = listArea_;
  for (QAbstractButton* row : rows_->buttons()) setTabOrder(std::exchange(before, row), row);
}

void ExportSheet::addHead(const QString& words) {
  if (list_->count() > 0) list_->addSpacing(10);
  QLabel* head = makeLabel(words, "section", listBody_);
  head->setContentsMargins(10, 2, 0, 2);
  list_->addWidget(head);
}

void ExportSheet::addPlace(Place place, const QString& title, const QString& words) {
  auto* row = makeButton({}, "placeRow", listBody_);
  const auto index = static_cast<int>(places_.size());
  row->setCheckable(true);
  row->setAccessibleName(title);
  row->setAccessibleDescription(words);
  row->setObjectName(QStringLiteral("exportPlace%1").arg(index));
  auto* lines = makeColumn(row, 1, {10, 6, 10, 6});
  QLabel* small = makeWords("small", row, words);
  for (QLabel* label : {makeWords("name", row, title), small}) {
    label->setAttribute(Qt::WA_TransparentForMouseEvents);
    lines->addWidget(label);
  }
  QSizePolicy policy(QSizePolicy::Preferred, QSizePolicy::Minimum);
  policy.setHeightForWidth(true);
  row->setSizePolicy(policy);
  rows_->addButton(row, index);
  list_->addWidget(row);
  places_.push_back(std::move(place));
}

const ExportSheet::Place& ExportSheet::place() const { return places_.at(static_cast<size_t>(chosen_)); }

void ExportSheet::choose(int index) {
  if (index != chosen_) Q_EMIT overwriteOver();
  chosen_ = index;
  if (QAbstractButton* row = rows_->button(index)) {
    row->setChecked(true);
    setFocusProxy(row);
  }
  suggestFile();
  showAll();
}

// A name that the user typed stays, with the suffix of what is written. A file with another norm has another name.
void ExportSheet::suggestFile() {
  const QFileInfo model(session_->path());
  const bool report = place().kind == Kind::Report;
  const QString suffix = report ? QStringLiteral(".report.html") : u'.' + model.suffix();
  QString path = typed_;
  if (typed_.isEmpty()) {
    const bool usual = report || place().target.norm == protocol::FoldParams().norm;
    // A report is the window's, and is written here.
    const QDir folder = report && !machineOf(session_->path()).isEmpty() ? QDir::home() : model.dir();
    path = folder.filePath(model.completeBaseName() + (report ? QString() : QStringLiteral(".folded")) +
                           (usual ? QString() : u'.' + text(place().target.name)) + suffix);
  } else if (report != typedReport_) {
    path.chop(QFileInfo(path).suffix().size() + 1);
    if (path.endsWith(QStringLiteral(".report"))) path.chop(7);
    path += suffix;
  }
  file_->setText(path);
}

void ExportSheet::useFile(const QString& path) {
  typed_ = path;
  typedReport_ = place().kind == Kind::Report;
  agreed_.clear();
}

void ExportSheet::askForPath() {
  const QFileInfo file(file_->text());
  const bool report = place().kind == Kind::Report;
  const QStringList filters = report ? QStringList{tr("Web page (*.html)"), tr("Markdown (*.md)")}
                                     : exportFilters(QFileInfo(session_->path()).suffix());
  const FileQuestion question{QStringLiteral("exportDialog"),
                              report ? tr("Write the report") : tr("Write the folded model"), filters,
                              folderOf(file_->text()), file.completeBaseName()};
  const auto use = [this](const QString& path) {
    useFile(path);
    agreed_ = {path};  // the dialog asked
    file_->setText(path);
    showAll();
  };
  const auto here = [this, question, use] { askForFile(this, question, use); };
  report ? here() : askForFileThere(session_->engine(), this, question, use, here);
}

QStringList ExportSheet::toOverwrite() const {
  QStringList files{file_->text()};
  if (writesReport()) files << reportBeside(file_->text());
  files.removeIf([this](const QString& path) {
    const QFileInfo info(path);
    const bool report = path != file_->text();
    const Written own{report ? std::string() : place().target.norm, info.lastModified()};
    return (!info.isFile() && path != existsThere_) || agreed_.contains(path) || own_.value(path) == own;
  });
  return files;
}

// What is known of the first of them.
QString ExportSheet::whyAsked(const QStringList& files) const {
  const auto own = own_.constFind(files.first());
  if (own == own_.constEnd()) return tr("This window has not written it.");
  const bool changed = own->at != QFileInfo(files.first()).lastModified();
  if (changed) return tr("It has changed since this window wrote it.");
  return own->norm.empty() ? tr("This window wrote something else there.")
                           : tr("This window wrote it for another target.");
}

void ExportSheet::overwrite(const QStringList& files) {
  if (!isVisible() || toOverwrite() != files) return;  // another file is chosen by now
  agreed_ = files;
  write();
}

void ExportSheet::remember(const QString& path, const std::string& norm) {
  own_[path] = {norm, QFileInfo(path).lastModified()};
  if (isVisible()) showAll();
}

void ExportSheet::exported() {
  const QString path = text(session_->exported()->path);
  remember(path, path == writing_.path ? writing_.norm : std::string());
  if (path != writing_.path) return;
  if (writing_.report) Q_EMIT reportWanted(reportBeside(writing_.path));
}

QString ExportSheet::obstacle(const protocol::FoldResult* fold) const {
  if (const QString never = session_->cannotRun(); !never.isEmpty()) return never;
  if (!session_->plan()) return session_->busy() ? QString() : tr("There is no plan yet.");
  if (session_->plan()->folded.empty()) return nothingToFold(*session_);
  if (fold != nullptr && fold->verify && fold->verify->exact == false)
    return tr("The outputs differ, so nothing is written.");
  if (fold != nullptr && !fold->ok) return asSentence(text(fold->reason));
  if (place().kind == Kind::Report && !session_->foldResult()) return tr("Fold the model first.");
  return {};
}

void ExportSheet::showAll() {
  if (places_.empty() || !session_->model()) return;
  const bool streams = place().kind == Kind::Streams;
  const bool report = place().kind == Kind::Report, file = isTarget() || report;
  pages_->setCurrentIndex(streams ? 1 : 0);
  const protocol::FoldResult* fold = isTarget()               ? session_->foldWith(place().target.norm)
                                     : session_->foldResult() ? &*session_->foldResult()
                                                              : nullptr;
  title_->setText(rows_->button(chosen_)->accessibleName());
  source_->setText(tr("of %1").arg(session_->title()));
  fileRow_->setVisible(file);
  about_->setText(isTarget() ? aboutTarget(place().target)
                  : report   ? tr("One self-contained page for a pull request or a paper, or the same as Markdown.")
                  : place().kind == Kind::Module
                      ? tr("The Python package folds a copy of an nn.Module and proves it on your inputs.")
                      : tr("The command folds a checkpoint's folder to another folder: safetensors and the class that "
                           "loads them."));
  showFacts(fold);
  showProof(fold);
  loaded_->setVisible(isTarget() && !loads_->text().isEmpty());
  showWarning();
  showExisting();
  code_->setVisible(!report);
  code_->setText(isTarget()                     ? runSnippet(text(session_->model()->format), text(place().target.name),
                                                             QFileInfo(file_->text()).fileName(), inputsOf(*session_))
                 : place().kind == Kind::Module ? moduleSnippet(inputsOf(*session_))
                                                : folderSnippet());
  pullRequestPart_->setVisible(file);
  const bool running = session_->report()->running(), made = !pullRequest_->text().isEmpty();
  pullRequest_->setVisible(made);
  makePullRequest_->setVisible(!made);
  if (!running) makePullRequest_->setEnabled(session_->foldResult().has_value() && !session_->busy());
  showFoot(fold);
}

// By the tables of docs/targets.md, which the project's own tests write.
QString ExportSheet::whatLoads() const {
  const QString format = text(session_->model()->format);
  const QString head = format == QLatin1String("onnx")  ? QStringLiteral("| ONNX in")
                       : format == QLatin1String("pt2") ? QStringLiteral("| torch.export in")
                                                        : QStringLiteral("| TorchScript in");
  QFile page(QStringLiteral(":/normlens/targets.md"));
  if (!page.open(QIODevice::ReadOnly)) return {};
  const QStringList rows = QString::fromUtf8(page.readAll())
                               .remove(u'`')
                               .section(head, 1)
                               .section(QStringLiteral("\n\n"), 0, 0)
                               .split(u'\n', Qt::SkipEmptyParts);
  const auto cell = [&](qsizetype row, qsizetype at) { return rows[row].section(u'|', at, at).trimmed(); };
  QStringList lines;
  for (qsizetype norm = 1; !rows.isEmpty() && !cell(0, norm).isEmpty(); ++norm) {
    const auto target = std::ranges::find(targets_, cell(0, norm).toStdString(), &protocol::TargetInfo::norm);
    if (target == targets_.end()) continue;  // the command line alone writes it
    QStringList equal, refused;
    for (qsizetype row = 2; row < rows.size(); ++row)
      (cell(row, norm + 1) == QLatin1String("equal") ? equal : refused) << cell(row, 1);
    lines << tr("%1: equal in %2").arg(text(target->operators), equal.join(QStringLiteral(", ")));
    if (!refused.isEmpty()) lines.last() += tr("; does not load in %1").arg(refused.join(QStringLiteral(", ")));
  }
  lines.removeDuplicates();  // two norms of the same operators
  return lines.join(u'\n');
}

// Exact where this very file was written, else by what the plan adds.
QString ExportSheet::sizeOf(const protocol::PlanInfo& plan) const {
  const auto& done = session_->exported();
  const bool written =
      done && text(done->path) == file_->text() && own_.value(file_->text()).norm == place().target.norm;
  const int64_t before = session_->model()->file_bytes, size = written ? done->bytes : before + plan.bytes_grown;
  const QString words = (written ? tr("%1") : tr("about %1")).arg(formatBytes(size));
  const QString change = (size < before ? u'−' : u'+') + formatBytes(std::abs(size - before));
  return size == before ? words : tr("%1 (%2)").arg(words, change);
}

void ExportSheet::showFacts(const protocol::FoldResult* fold) {
  const auto& plan = fold != nullptr ? std::optional(fold->plan) : session_->plan();
  written_->setVisible(plan.has_value() && isTarget());
  if (!plan) return;
  QVector<Property> rows{
      {tr("written as"), text(place().target.operators), {}},
      {tr("norms folded"), tr("%1 of %2").arg(plan->folded.size()).arg(plan->layer_norms), {}},
      {tr("tensors centered"), tr("%1 · %2").arg(plan->tensors_centered).arg(formatBytes(plan->bytes_centered)), {}},
      {tr("shifts moved into biases"), QString::number(plan->shifts_absorbed), {}},
      {tr("centerings at run time"), QString::number(plan->centerings), {}},
      {tr("file size"), sizeOf(*plan), tr("Exact once the file is written.")}};
  facts_->setProperties(rows);
}

// "The file is the same as for Any runtime": a target before it takes the same norm.
QString ExportSheet::sameFile() const {
  const auto first = std::ranges::find(targets_, place().target.norm, &protocol::TargetInfo::norm);
  if (first == targets_.end() || first->name == place().target.name) return {};
  return tr("The file is the same as for %1, and so is its proof.").arg(text(first->title));
}

void ExportSheet::showProof(const protocol::FoldResult* fold) {
  proved_->setVisible(isTarget());
  badge_->setVisible(isTarget());
  if (!isTarget()) return;
  const protocol::VerifyResult* proof = fold != nullptr && fold->verify ? &*fold->verify : nullptr;
  QVector<Property> rows;
  const bool other = session_->foldResult() && session_->foldResult()->verify;
  if (proof == nullptr) {
    badge_->set(Badge::Tone::Neutral, QStringLiteral("info"),
                other ? tr("Not proved with this norm") : tr("Not proved yet"));
  } else {
    ui::showProof(badge_, *proof);
    const auto add = [&](const QString& what, const protocol::ErrorPair& error) {
      rows.push_back({what, tr("%1, allowed %2").arg(formatError(error.max_rel), formatError(error.limit)),
                      tr("The largest relative difference of an output from the original's.")});
    };
    if (proof->algebra_done) add(tr("proved in float64"), proof->algebra);
    if (proof->file_done) {
      add(tr("checked in %1").arg(text(proof->file_dtype)), proof->file);
      rows.push_back({tr("checked with"), checkedIn(*session_), {}});
    }
  }
  proof_->setProperties(rows);
  proof_->setVisible(!rows.isEmpty());
  const QString caution = proof == nullptr ? QString() : text(protocol::proofCaution(*proof));
  proofNote_->setText(!caution.isEmpty() ? caution
                      : proof != nullptr ? sameFile()
                      : other ? tr("This target takes another norm than the one that was proved, so the fold is "
                                   "proved with it before it is written.")
                              : tr("The fold with this norm is proved before it is written."));
  proofNote_->setVisible(!proofNote_->text().isEmpty());
  setKind(proofNote_, caution.isEmpty() ? "soft" : "error");
}

// What float16 does to squares there: found in the last file that was written for it, else as far as it is known.
void ExportSheet::showWarning() {
  const auto& done = session_->exported();
  const bool here = isTarget() && done && text(done->path) == file_->text();
  const size_t count = here ? done->overflows.size() : 0;
  warningCard_->setVisible(isTarget() && (count > 0 || place().target.squares_in_float16));
  setKind(warningCard_, count > 0 ? "criterionBad" : "criterion");
  if (count > 0) {
    const protocol::Overflow& worst = *std::ranges::max_element(done->overflows, {}, &protocol::Overflow::square);
    warningTitle_->setText(count == 1 ? tr("In float16 one norm would overflow")
                                      : tr("In float16 %1 norms would overflow").arg(count));
    warning_->setText(tr("On these inputs, x² of %1 reaches %2; float16 ends at 65,504. Compute it in float32.")
                          .arg(text(worst.norm), formatCount(static_cast<int64_t>(worst.square))));
  } else {
    warningTitle_->setText(tr("Mind float16"));
    warning_->setText(asSentence(tr("This target %1").arg(text(place().target.range))));
  }
}

void ExportSheet::showExisting() {
  QStringList names;
  for (const QString& path : toOverwrite()) names << QFileInfo(path).fileName();
  exists_->setVisible(fileRow_->isVisibleTo(this) && !names.isEmpty());
  exists_->setText((names.size() == 1 ? tr("%1 exists. Writing asks before it is replaced.")
                                      : tr("%1 exist. Writing asks before they are replaced."))
                       .arg(names.join(tr(" and "))));
}

void ExportSheet::showFoot(const protocol::FoldResult* fold) {
  const bool file = !targets_.empty() && (isTarget() || place().kind == Kind::Report);
  const bool differs = fold != nullptr && fold->verify && fold->verify->exact == false;
  const QString why = obstacle(fold), name = QFileInfo(file_->text()).fileName();
  const JobKind job = session_->job().kind;
  alsoReport_->setVisible(isTarget() && machineOf(file_->text()).isEmpty());
  write_->setVisible(file);
  write_->setIconName(differs ? QString() : QStringLiteral("export"));
  write_->setText(differs                         ? tr("Go to the first difference")
                  : job == JobKind::Folding       ? tr("Proving…")
                  : job == JobKind::Exporting     ? tr("Writing…")
                  : session_->report()->running() ? tr("Comparing…")
                                                  : tr("Write %1").arg(shownName(name, width() >= grown(kWide))));
  write_->setEnabled(differs || (why.isEmpty() && !session_->busy() && session_->served() && !name.isEmpty() &&
                                 !session_->report()->running()));
  write_->setToolTip(tr("Write %1 (Ctrl+Enter)").arg(name));
  foot_->setText(!file                                      ? QString()
                 : !why.isEmpty()                           ? why
                 : session_->busy() && !session_->canStop() ? tr("Going back to the fold that was proved.")
                 : session_->job().stopping                 ? tr("Stopping…")
                 : session_->busy()                         ? tr("Esc stops it.")
                 : place().kind == Kind::Report             ? tr("1 file")
                 : fold == nullptr                          ? tr("The model is folded and proved first.")
                                                            : tr("1 file, %1").arg(sizeOf(fold->plan)));
}

void ExportSheet::write() {
  if (!write_->isEnabled() || write_->isHidden()) return;
  const protocol::FoldResult* fold = isTarget() ? session_->foldWith(place().target.norm) : nullptr;
  if (fold != nullptr && fold->verify && fold->verify->exact == false) return Q_EMIT differenceWanted();
  if (const QStringList files = toOverwrite(); !files.isEmpty()) return Q_EMIT overwriteAsked(files, whyAsked(files));
  if (!machineOf(file_->text()).isEmpty() && !agreed_.contains(file_->text())) return askWhatIsThere();
  agreed_.clear();
  writing_ = {file_->text(), place().target.norm, writesReport()};
  if (isTarget()) return session_->exportFor(file_->text(), place().target);
  Q_EMIT reportWanted(file_->text());
}

// A file on the engine's machine is not replaced unasked either.
void ExportSheet::askWhatIsThere() {
  const QString path = file_->text();
  const auto ask = [this, path](const Reply<protocol::FolderList>& reply) {
    if (file_->text() != path) return;
    const bool exists = reply && reply->entries.size() == 1 && text(reply->path) != pathThere(path);
    existsThere_ = exists ? path : QString();
    if (toOverwrite().isEmpty()) agreed_ = {path};
    write();
  };
  thereQuestion_.ask(protocol::methods::kListFolder, {pathThere(path).toStdString()}, ask);
}

bool ExportSheet::writesReport() const {
  return isTarget() && alsoReport_->isChecked() && machineOf(file_->text()).isEmpty();
}

void ExportSheet::makePullRequestText() {
  makePullRequest_->setEnabled(false);
  session_->report()->start(protocol::ReportFormat::Markdown, {});
}

void ExportSheet::hideEvent(QHideEvent* event) {
  if (!event->spontaneous()) Q_EMIT overwriteOver();
}

// The columns stand below each other where the sheet is narrow.
void ExportSheet::resizeEvent(QResizeEvent* event) {
  QFrame::resizeEvent(event);
  const bool wide = width() >= grown(kWide);
  columns_->setDirection(wide ? QBoxLayout::LeftToRight : QBoxLayout::TopToBottom);
  listArea_->setFixedWidth(grown(wide ? kList : kNarrowList));
  source_->setVisible(wide);
  showAll();  // the button names the file
}

}  // namespace normlens::ui
