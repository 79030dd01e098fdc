#include "ui/session/project/recent_files.h"

#include <QFileInfo>
#include <QSettings>

#include "ui/client/placed_file.h"

namespace normlens::ui {

namespace {

QVector<RecentFile> storedFiles() {
  QSettings settings;
  QVector<RecentFile> files;
  const int size = qMin(settings.beginReadArray(QStringLiteral("recent")), kMaxRecentFiles);
  for (int i = 0; i < size; ++i) {
    settings.setArrayIndex(i);
    files.push_back({settings.value(QStringLiteral("path")).toString(),
                     settings.value(QStringLiteral("foldable"), -1).toInt(),
                     settings.value(QStringLiteral("layerNorms"), -1).toInt()});
  }
  settings.endArray();
  return files;
}

}  // namespace

QVector<RecentFile> recentFiles() {
  QVector<RecentFile> files = storedFiles();
  files.removeIf(
      [](const RecentFile& file) { return !QFileInfo::exists(file.path) && machineOf(file.path).isEmpty(); });
  return files;
}

RecentFile recentFile(const QString& path, const protocol::Totals& totals) {
  if (totals.unknown > 0) return {path};
  return {path, totals.free + totals.with_centering, totals.layer_norms};
}

void rememberFile(const RecentFile& file) {
  QVector<RecentFile> files = storedFiles();
  files.removeIf([&](const RecentFile& other) { return other.path == file.path; });
  files.prepend(file);
  if (files.size() > kMaxRecentFiles) files.resize(kMaxRecentFiles);
  QSettings settings;
  settings.beginWriteArray(QStringLiteral("recent"), static_cast<int>(files.size()));
  for (int i = 0; i < files.size(); ++i) {
    settings.setArrayIndex(i);
    settings.setValue(QStringLiteral("path"), files[i].path);
    settings.setValue(QStringLiteral("foldable"), files[i].foldable);
    settings.setValue(QStringLiteral("layerNorms"), files[i].layerNorms);
  }
  settings.endArray();
}

}  // namespace normlens::ui
