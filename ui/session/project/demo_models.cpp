#include "ui/session/project/demo_models.h"

#include <QCoreApplication>
#include <QDir>
#include <QFileInfo>
#include <QJsonDocument>
#include <QJsonObject>
#include <optional>

namespace normlens::ui {

namespace {

std::optional<QDir> demoFolder() {
  const QDir here(QCoreApplication::applicationDirPath());
  for (const QString& path :
       {here.filePath(QStringLiteral("models")), here.filePath(QStringLiteral("../share/normlens/models")),
        QStringLiteral(NORMLENS_DEMO_MODELS)}) {
    const QDir folder(path);
    if (folder.exists() && !folder.entryList({QStringLiteral("*.pt")}, QDir::Files).isEmpty()) return folder;
  }
  return std::nullopt;
}

QJsonObject notesIn(const QDir& folder) {
  QFile file(folder.filePath(QStringLiteral("models.json")));
  if (!file.open(QIODevice::ReadOnly)) return {};
  return QJsonDocument::fromJson(file.readAll()).object();
}

QString titleFromFile(const QString& baseName) {
  QString title = baseName;
  title.replace(u'_', u' ');
  return title;
}

}  // namespace

QVector<DemoModel> demoModels() {
  const std::optional<QDir> folder = demoFolder();
  if (!folder) return {};
  const QJsonObject notes = notesIn(*folder);
  QVector<DemoModel> models;
  const QStringList patterns{QStringLiteral("*.pt"), QStringLiteral("*.onnx")};
  for (const QFileInfo& file : folder->entryInfoList(patterns, QDir::Files, QDir::Name)) {
    const QJsonObject note = notes.value(file.fileName()).toObject();
    DemoModel model;
    model.path = file.canonicalFilePath();
    model.bytes = file.size();
    model.title = note.value(QStringLiteral("title")).toString(titleFromFile(file.completeBaseName()));
    model.description = note.value(QStringLiteral("description")).toString();
    model.free = note.value(QStringLiteral("free")).toInt(-1);
    model.withCentering = note.value(QStringLiteral("with_centering")).toInt(-1);
    model.blocked = note.value(QStringLiteral("blocked")).toInt(-1);
    models.push_back(model);
  }
  return models;
}

QString lessonModel(const QString& name) {
  const std::optional<QDir> folder = demoFolder();
  const QFileInfo file(folder ? folder->filePath(QStringLiteral("lessons/%1.pt").arg(name)) : QString());
  return file.exists() ? file.canonicalFilePath() : QString();
}

}  // namespace normlens::ui
