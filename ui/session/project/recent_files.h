// The files opened last, newest first, kept in QSettings with how many of their norms fold.
#pragma once

#include <QString>
#include <QVector>

#include "core/protocol/messages.h"

namespace normlens::ui {

struct RecentFile {
  QString path;
  int foldable = -1;  // -1: not known
  int layerNorms = -1;
};

inline constexpr int kMaxRecentFiles = 8;

[[nodiscard]] QVector<RecentFile> recentFiles();  // Those of this machine still exist.
void rememberFile(const RecentFile& file);        // moves it to the front
// The counts are not known where some verdict is not.
[[nodiscard]] RecentFile recentFile(const QString& path, const protocol::Totals& totals);

}  // namespace normlens::ui
