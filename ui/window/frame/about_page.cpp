#include "ui/window/frame/about_page.h"

#include <QClipboard>
#include <QCoreApplication>
#include <QGuiApplication>
#include <QKeyEvent>
#include <QPushButton>
#include <QScrollArea>
#include <QSysInfo>

#include "ui/client/engine_client.h"
#include "ui/theme/theme.h"
#include "ui/widgets/follow_text.h"
#include "ui/widgets/property_list.h"
#include "ui/window/parts.h"
#include "ui/words/format.h"

namespace normlens::ui {

namespace {

constexpr int kAboutWidth = 680;

QVector<Property> versionsOf(const EngineClient& engine) {
  const bool ready = engine.state() == EngineClient::State::Ready;
  const auto known = [&](const std::string& version) {
    return ready && !version.empty() ? text(version) : AboutPage::tr("not available");
  };
  const protocol::EngineInfo& info = engine.info();
  return {{AboutPage::tr("Window"), QCoreApplication::applicationVersion()},
          {AboutPage::tr("Engine"), known(info.version), AboutPage::tr("The program that reads and runs models.")},
          {QStringLiteral("LibTorch"), known(info.torch), AboutPage::tr("Runs TorchScript and torch.export models.")},
          {QStringLiteral("ONNX Runtime"), known(info.onnx_runtime), AboutPage::tr("Runs ONNX models.")},
          {QStringLiteral("Qt"), QString::fromLatin1(qVersion())},
          {AboutPage::tr("Device"), known(info.device)},
          {AboutPage::tr("System"), QSysInfo::prettyProductName() + u' ' + QSysInfo::currentCpuArchitecture()}};
}

}  // namespace

AboutPage::AboutPage(const EngineClient* engine, QWidget* parent) : QWidget(parent), engine_(engine) {
  describe(this, "about", {}, tr("About NormLens"));
  auto* scroll = makeScrollArea(this, tr("About NormLens"));
  makeColumn(this)->addWidget(scroll);
  auto* body = new QWidget(scroll);
  auto* across = makeRow(body, -1, {24, 28, 24, 28});
  auto* page = new QWidget(body);
  followText(page, [page] { page->setMaximumWidth(grown(kAboutWidth)); });
  across->addStretch(1);
  across->addWidget(page, 100);
  across->addStretch(1);
  auto* column = makeColumn(page, 16);
  auto* head = makeRow(nullptr, 8);
  column->addLayout(head);
  head->addWidget(makeLabel(tr("About NormLens"), "hero", page));
  head->addStretch(1);
  QPushButton* copy = addButton(head, "secondary", tr("Copy versions"), "aboutCopy",
                                tr("Copy the versions as text, for a bug report."));
  connect(copy, &QPushButton::clicked, this, [this] { QGuiApplication::clipboard()->setText(text()); });
  QPushButton* done = addButton(head, "secondary", tr("Done"), "aboutDone", tr("Back (Esc)."));
  connect(done, &QPushButton::clicked, this, &AboutPage::closed);
  column->addWidget(makeWords("body", page,
                              tr("NormLens finds the LayerNorms that can become RMSNorms without changing any output, "
                                 "rewrites the model and proves the result. Models stay on this machine, unless you "
                                 "connect to an engine on another.")));
  versions_ = describe(new PropertyList(page), "aboutVersions");
  column->addWidget(versions_);
  column->addWidget(makeWords("soft", page,
                              tr("License: Apache 2.0. To report a problem, run \"normlens-engine check MODEL\" and "
                                 "send what it prints together with these versions.")));
  column->addStretch(1);
  scroll->setWidget(body);
  connect(engine_, &EngineClient::stateChanged, this, &AboutPage::showVersions);
}

void AboutPage::showVersions() { versions_->setProperties(versionsOf(*engine_)); }

QString AboutPage::text() const {
  QString lines;
  for (const Property& each : versionsOf(*engine_)) lines += QStringLiteral("%1: %2\n").arg(each.name, each.value);
  return lines;
}

void AboutPage::keyPressEvent(QKeyEvent* event) {
  event->key() == Qt::Key_Escape ? Q_EMIT closed() : QWidget::keyPressEvent(event);
}

}  // namespace normlens::ui
