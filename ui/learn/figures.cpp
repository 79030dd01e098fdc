#include "ui/learn/figures.h"

namespace normlens::ui {
namespace {

struct Kind {
  const char* name;
  Figure* (*make)(QWidget* parent);
};

constexpr Kind kKinds[] = {
    {"centering", makeCenteringFigure}, {"compression", makeCompressionFigure}, {"cut", makeCutFigure},
    {"forced", makeForcedFigure},       {"graph_walk", makeGraphWalkFigure},    {"projection", makeProjectionFigure},
    {"speed", makeSpeedFigure}};

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
