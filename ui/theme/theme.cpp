#include "ui/theme/theme.h"

#include <QApplication>
#include <QFontDatabase>
#include <QStyleFactory>
#include <QWidget>

#include "ui/theme/style_sheet.h"

namespace normlens::ui {

namespace {

QString firstInstalled(const QStringList& wanted) {
  for (const QString& family : wanted) {
    if (QFontDatabase::hasFamily(family)) return family;
  }
  return {};
}

// The application's own font says which size of text was chosen.
int scaledPixels(int pixels) {
  const int base = QFont().pixelSize();
  return base > 0 ? qRound(pixels * static_cast<double>(base) / kBaseFontPixels) : pixels;
}

QString uiFamily() { return firstInstalled({QStringLiteral("Inter"), QStringLiteral("Inter Variable")}); }

QPalette paletteFor(const Theme& theme) {
  QPalette palette;
  palette.setColor(QPalette::Window, theme.panel);
  palette.setColor(QPalette::WindowText, theme.text);
  palette.setColor(QPalette::Base, theme.panel);
  palette.setColor(QPalette::AlternateBase, theme.chrome);
  palette.setColor(QPalette::Text, theme.text);
  palette.setColor(QPalette::PlaceholderText, theme.textFaint);
  palette.setColor(QPalette::Button, theme.panel);
  palette.setColor(QPalette::ButtonText, theme.text);
  palette.setColor(QPalette::BrightText, theme.onAccent);
  palette.setColor(QPalette::Highlight, theme.selection);
  palette.setColor(QPalette::HighlightedText, theme.text);
  palette.setColor(QPalette::ToolTipBase, theme.panel);
  palette.setColor(QPalette::ToolTipText, theme.text);
  palette.setColor(QPalette::Link, theme.accentText);
  palette.setColor(QPalette::LinkVisited, theme.accentText);
  palette.setColor(QPalette::Light, theme.panel);
  palette.setColor(QPalette::Midlight, theme.hover);
  palette.setColor(QPalette::Mid, theme.control);
  palette.setColor(QPalette::Dark, theme.textFaint);
  palette.setColor(QPalette::Shadow, QColor(0, 0, 0, 60));
  for (const auto role : {QPalette::WindowText, QPalette::Text, QPalette::ButtonText}) {
    palette.setColor(QPalette::Disabled, role, theme.textFaint);
  }
  return palette;
}

}  // namespace

ColorScheme colorSchemeFromName(const QString& name) {
  if (name == QLatin1String("light")) return ColorScheme::Light;
  if (name == QLatin1String("dark")) return ColorScheme::Dark;
  return ColorScheme::FollowDesktop;
}

QString colorSchemeName(ColorScheme scheme) {
  switch (scheme) {
    case ColorScheme::Light:
      return QStringLiteral("light");
    case ColorScheme::Dark:
      return QStringLiteral("dark");
    case ColorScheme::FollowDesktop:
      break;
  }
  return QStringLiteral("system");
}

Theme lightTheme() {
  Theme t;
  t.chrome = QColor(0xF5F6F8);
  t.panel = QColor(0xFFFFFF);
  t.canvas = QColor(0xFAFBFC);
  t.text = QColor(0x1B1F24);
  t.textSoft = QColor(0x4E5762);
  t.textFaint = QColor(0x6B7480);
  t.hairline = QColor(0xE2E5EA);
  t.control = QColor(0xCDD3DB);
  t.hover = QColor(0xECEEF2);
  t.accent = QColor(0x3B5BDB);
  t.accentHover = QColor(0x324FC4);
  t.onAccent = QColor(0xFFFFFF);
  t.accentText = QColor(0x3B5BDB);
  t.selection = QColor(0xE7ECFD);
  t.good = QColor(0x0A7A55);
  t.goodBack = QColor(0xE3F3EC);
  t.blocked = QColor(0xB84A00);
  t.blockedBack = QColor(0xFCEBE0);
  t.centering = QColor(0x9B3F74);
  t.centeringBack = QColor(0xF9EAF2);
  t.streamLine = QColor(0x0072B2);
  t.opaqueLine = QColor(0xD55E00);
  t.linearLine = QColor(0x009E73);
  t.classes = {QColor(0x009E73), QColor(0x56B4E9), QColor(0x0072B2), QColor(0xF0E442),
               QColor(0xD55E00), QColor(0xCC79A7), QColor(0xE69F00)};
  return t;
}

Theme darkTheme() {
  Theme t = lightTheme();
  t.dark = true;
  t.chrome = QColor(0x16181C);
  t.panel = QColor(0x1B1E23);
  t.canvas = QColor(0x121418);
  t.text = QColor(0xE9ECF0);
  t.textSoft = QColor(0xAEB6C1);
  t.textFaint = QColor(0x868F9B);
  t.hairline = QColor(0x2A2F37);
  t.control = QColor(0x3B424D);
  t.hover = QColor(0x242931);
  t.accent = QColor(0x4C68E8);
  t.accentHover = QColor(0x5B76F2);
  t.accentText = QColor(0x8FA2FF);
  t.selection = QColor(0x27304F);
  t.good = QColor(0x4CC79A);
  t.goodBack = QColor(0x17342A);
  t.blocked = QColor(0xFF9A57);
  t.blockedBack = QColor(0x3B2416);
  t.centering = QColor(0xE59CC4);
  t.centeringBack = QColor(0x38222F);
  t.streamLine = QColor(0x2B93D1);
  t.opaqueLine = QColor(0xFF7A2F);
  t.linearLine = QColor(0x3FBF97);
  return t;
}

QColor Theme::classColor(QChar letter) const {
  switch (letter.toLatin1()) {
    case 'L':
      return classes.linear;
    case 'S':
      return classes.scalar;
    case 'R':
      return classes.residual;
    case 'Z':
      return classes.zeroMean;
    case 'O':
      return classes.opaque;
    case 'A':
      return classes.centering;
    case 'N':
      return classes.chosen;
    default:
      return textFaint;
  }
}

Theme themeOf(const QPalette& palette) { return desktopIsDark(palette) ? darkTheme() : lightTheme(); }

Theme themeOf(const QWidget* widget) { return themeOf(widget->palette()); }

bool desktopIsDark(const QPalette& desktopPalette) {
  return desktopPalette.color(QPalette::Active, QPalette::WindowText).lightness() > 127;
}

QFont uiFont(int pixels, QFont::Weight weight) {
  QFont font;
  if (const QString family = uiFamily(); !family.isEmpty()) font.setFamily(family);
  font.setPixelSize(scaledPixels(pixels));
  font.setWeight(weight);
  return font;
}

QFont monoFont(int pixels, QFont::Weight weight) {
  QFont font = QFontDatabase::systemFont(QFontDatabase::FixedFont);
  const QString family = firstInstalled({QStringLiteral("JetBrains Mono"), QStringLiteral("Cascadia Mono"),
                                         QStringLiteral("DejaVu Sans Mono"), QStringLiteral("Liberation Mono")});
  if (!family.isEmpty()) font.setFamily(family);
  font.setStyleHint(QFont::Monospace);
  font.setPixelSize(scaledPixels(pixels));
  font.setWeight(weight);
  return font;
}

void applyTheme(QApplication& application, const Theme& theme, int basePixels) {
  application.setStyle(QStyleFactory::create(QStringLiteral("Fusion")));
  application.setPalette(paletteFor(theme));
  QFont font;
  if (const QString family = uiFamily(); !family.isEmpty()) font.setFamily(family);
  font.setPixelSize(basePixels);
  font.setWeight(QFont::Normal);
  application.setFont(font);
  application.setStyleSheet(styleSheetFor(theme, static_cast<double>(basePixels) / kBaseFontPixels));
}

}  // namespace normlens::ui
