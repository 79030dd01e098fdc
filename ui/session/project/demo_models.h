// The small models that come with the program.
#pragma once

#include <QString>
#include <QVector>

namespace normlens::ui {

struct DemoModel {
  QString path;
  QString title;        // file name without suffix, or the title in models.json
  QString description;  // one line; may be empty
  qint64 bytes = 0;
  int free = -1, withCentering = -1, blocked = -1;  // -1: not stated
};

// Looks in `models` beside the executable, in ../share/normlens/models and in the source tree's resources/models; takes
// the first folder that has .pt files. models.json in it may carry, per file name, {"title", "description", "free",
// "with_centering", "blocked"}.
[[nodiscard]] QVector<DemoModel> demoModels();
// One of the lessons' own, in the folder `lessons` there: "mixer". Empty: it is not there.
[[nodiscard]] QString lessonModel(const QString& name);

}  // namespace normlens::ui
