#include "ui/learn/figures.h"

#include "ui/learn/compression_figure.h"
#include "ui/learn/live/centering_figure.h"
#include "ui/learn/live/cut_figure.h"
#include "ui/learn/live/forced_figure.h"
#include "ui/learn/live/graph_walk_figure.h"
#include "ui/learn/projection_figure.h"
#include "ui/learn/speed_figure.h"

namespace normlens::ui {
namespace {

struct Kind {
  const char* name;
  Figure* (*make)(QWidget* parent);
};

template <class T>
Figure* make(QWidget* parent) {
  return new T(parent);
}

constexpr Kind kKinds[] = {{"centering", make<CenteringFigure>},
                           {"compression", make<CompressionFigure>},
                           {"cut", make<CutFigure>},
                           {"forced", make<ForcedFigure>},
                           {"graph_walk", make<GraphWalkFigure>},
                           {"projection", make<ProjectionFigure>},
                           {"speed", make<SpeedFigure>}};

}  // namespace

QStringList figureKinds() {
  QStringList names;
  for (const Kind& kind : kKinds) names << QString::fromLatin1(kind.name);
  return names;
}

Figure* makeFigure(const QString& kind, QWidget* parent) {
  for (const Kind& known : kKinds) {
    if (kind == QLatin1String(known.name)) return known.make(parent);
  }
  return nullptr;
}

}  // namespace normlens::ui
