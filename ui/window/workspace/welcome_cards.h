// The pieces of the welcome page: steps, demo models, recent files, the place to drop a file.
#pragma once

#include <QWidget>

#include "ui/session/project/demo_models.h"
#include "ui/session/project/recent_files.h"
#include "ui/theme/theme.h"

class QFrame;
class QPushButton;

namespace normlens::ui {

// Pictures in the theme's colors (step_art.cpp).
using PaintStep = void (*)(QPainter& painter, const Theme& theme);
void paintOpen(QPainter& painter, const Theme& theme);
void paintFold(QPainter& painter, const Theme& theme);
void paintMeasure(QPainter& painter, const Theme& theme);

// Number, title and two lines under a picture.
[[nodiscard]] QFrame* makeStepCard(int number, PaintStep picture, const QString& title, const QString& text,
                                   QWidget* parent);
// A demo model with what folds in it as a bar.
[[nodiscard]] QPushButton* makeDemoCard(const DemoModel& model, QWidget* parent);
// A recently opened file: name, folder, how many of its norms fold.
[[nodiscard]] QPushButton* makeRecentRow(const RecentFile& file, QWidget* parent);

}  // namespace normlens::ui
