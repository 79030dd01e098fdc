// The colours and fonts of the window, light and dark, and how a widget finds its own.
//
// There is no global theme: applyTheme() sets the application's palette and style sheet, and a widget that paints
// itself calls themeOf(this), which reads light or dark off its palette. So a change of theme reaches every widget as
// the ordinary PaletteChange. Thread: GUI thread.
#pragma once

#include <QColor>
#include <QFont>
#include <QPalette>
#include <QString>

class QApplication;
class QWidget;

namespace normlens::ui {

enum class ColorScheme { FollowDesktop, Light, Dark };

[[nodiscard]] ColorScheme colorSchemeFromName(const QString& name);  // "light", "dark"; anything else: the desktop's
[[nodiscard]] QString colorSchemeName(ColorScheme scheme);           // "light", "dark", "system"

// Vertex classes of a zero-mean graph (Okabe-Ito). Always shown with a letter and a shape as well: see class_mark.h.
struct ClassColors {
  QColor linear, scalar, residual, zeroMean, opaque, centering, chosen, rmsNorm;
};

struct Theme {
  bool dark = false;
  QColor chrome, panel, canvas;          // bars; docks and cards; the drawing area
  QColor text, textSoft, textFaint;      // primary, secondary, captions
  QColor hairline, control, hover;       // separators; borders of controls; a hovered row or button
  QColor accent, accentHover, onAccent;  // the one filled button
  QColor accentText;                     // accent as a line or text on panel
  QColor selection;
  QColor good, goodBack;
  QColor blocked, blockedBack;
  QColor centering, centeringBack;  // text and ground of 'with centering'
  QColor streamLine;                // the residual stream
  QColor opaqueLine, linearLine;    // the lit edges of blocked and of linear paths
  ClassColors classes;

  // Color of a vertex class letter: L S R Z O, N the chosen norm, A auxiliary centering, M an RMSNorm. Others:
  // textFaint.
  [[nodiscard]] QColor classColor(QChar letter) const;
};

[[nodiscard]] Theme lightTheme();
[[nodiscard]] Theme darkTheme();
[[nodiscard]] Theme themeOf(const QWidget* widget);
[[nodiscard]] Theme themeOf(const QPalette& palette);

// True when the palette that the desktop gave the application is a dark one. Call before applyTheme().
[[nodiscard]] bool desktopIsDark(const QPalette& desktopPalette);

inline constexpr int kBaseFontPixels = 13;

// The chosen size of text as a multiple of the usual one.
[[nodiscard]] double textScale();
// A length around text, given for the usual size of text, at the chosen one.
[[nodiscard]] int grown(int pixels);

// Inter where it is installed, else the system's font. Sizes in device-independent pixels; base 13, rows 12,
// captions 11, titles 15 and 28. They are those of the usual text size and follow the one that was chosen.
[[nodiscard]] QFont uiFont(int pixels = 13, QFont::Weight weight = QFont::Normal);
// A monospaced font for numbers that are compared.
[[nodiscard]] QFont monoFont(int pixels = 12, QFont::Weight weight = QFont::Normal);

// Palette, font and style sheet of the whole application.
void applyTheme(QApplication& application, const Theme& theme, int basePixels = kBaseFontPixels);

}  // namespace normlens::ui
