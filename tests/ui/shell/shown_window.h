// A window with the fake engine, shown offscreen, and what a user does with it.
#pragma once

#include <QAbstractButton>
#include <QFileDialog>
#include <QLineEdit>
#include <QTreeView>

#include "tests/ui/shell/shell_test.h"
#include "ui/models/norm_model.h"
#include "ui/session/session.h"
#include "ui/widgets/info_bar.h"
#include "ui/window/main_window.h"

namespace normlens::ui {

// A shown window with a fake engine.
struct Shown {
  // remember: preferences and sizes go to QSettings; recovery: a folder where work is put aside.
  explicit Shown(const QStringList& mischief = {}, bool remember = false, const QString& recovery = {})
      : window({test::fakeEngine(mischief), ColorScheme::Light, false, remember, recovery}),
        session(*window.session()) {
    window.resize(1440, 900);
    window.show();
  }
  // The same with a model that is open and planned.
  explicit Shown(const QString& model, const QStringList& mischief = {}, bool remember = false,
                 const QString& recovery = {})
      : Shown(mischief, remember, recovery) {
    openAndAnalyse(model);
  }

  void openAndAnalyse(const QString& model) {
    window.openFile(model);
    QTRY_VERIFY(session.plan().has_value() && !session.busy());
  }
  void fold() {
    session.fold();
    QTRY_VERIFY(session.foldResult().has_value() && !session.busy());
  }
  template <class T>
  T* child(const char* name) {
    T* found = window.findChild<T*>(QLatin1String(name));
    if (found == nullptr) qFatal("no child named %s", name);
    return found;
  }
  void click(const char* name) { QTest::mouseClick(child<QAbstractButton>(name), Qt::LeftButton); }
  // In the bar below the tool bar.
  [[nodiscard]] bool says(const QString& words) const {
    return window.infoBar()->isVisible() && window.infoBar()->message().contains(words);
  }
  // Chooses `path` in the file dialog that is open.
  void answerFileDialog(const char* name, const QString& path) {
    auto* dialog = child<QFileDialog>(name);
    dialog->selectFile(path);
    auto* edit = dialog->findChild<QLineEdit*>(QStringLiteral("fileNameEdit"));
    QVERIFY(edit != nullptr);
    edit->setText(path);
    QMetaObject::invokeMethod(dialog, "accept");
  }
  void clickNorm(int norm) {
    auto* list = child<QTreeView>("normList");
    const QModelIndexList found = list->model()->match(list->model()->index(0, 0), NormModel::NormRole, norm, 1,
                                                       Qt::MatchExactly | Qt::MatchRecursive);
    QVERIFY(!found.isEmpty());
    list->scrollTo(found.first());
    QTest::mouseClick(list->viewport(), Qt::LeftButton, {}, list->visualRect(found.first()).center());
  }

  MainWindow window;
  Session& session;
};

}  // namespace normlens::ui
