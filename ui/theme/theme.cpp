#include "ui/theme/theme.h"

#include <QApplication>
#include <QFile>
#include <QFontDatabase>
#include <QRegularExpression>
#include <QStyleFactory>
#include <QWidget>
#include <algorithm>

namespace normlens::ui {

namespace {

QString firstInstalled(const QStringList& wanted) {
  for (const QString& family : wanted) {
    if (QFontDatabase::hasFamily(family)) return family;
  }
  return {};
}

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

// Text, the boxes around it and what is drawn as a thick border; not hairlines, margins and paddings.
QString withTextScaled(const QString& sheet, double scale) {
  static const QRegularExpression size(
      QStringLiteral("\\b(?:(?:font-size|height|width|radius): |border: (?=[3-9]px))(\\d+)px"));
  QString scaled;
  qsizetype done = 0;
  for (auto found = size.globalMatch(sheet); found.hasNext();) {
    const QRegularExpressionMatch match = found.next();
    scaled +=
        sheet.mid(done, match.capturedStart(1) - done) + QString::number(qRound(match.captured(1).toInt() * scale));
    done = match.capturedEnd(1);
  }
  return scaled + sheet.mid(done);
}

// resources/style/normlens.qss with each "@name" become the theme's color of that name, and the sizes of text taken
// times `textScale`. Empty if the resource is not linked in.
QString styleSheetFor(const Theme& theme, double textScale) {
  QFile file(QStringLiteral(":/normlens/style/normlens.qss"));
  if (!file.open(QIODevice::ReadOnly)) return {};
  QString sheet = QString::fromUtf8(file.readAll());
  // Longer names first, so that "@text" does not eat the head of "@textSoft".
  const std::pair<const char*, QColor> colors[] = {
      {"@accentHover", theme.accentHover},
      {"@accentText", theme.accentText},
      {"@accent", theme.accent},
      {"@onAccent", theme.onAccent},
      {"@chrome", theme.chrome},
      {"@panel", theme.panel},
      {"@canvas", theme.canvas},
      {"@textSoft", theme.textSoft},
      {"@textFaint", theme.textFaint},
      {"@text", theme.text},
      {"@hairline", theme.hairline},
      {"@control", theme.control},
      {"@hover", theme.hover},
      {"@selection", theme.selection},
      {"@goodBack", theme.goodBack},
      {"@good", theme.good},
      {"@blockedBack", theme.blockedBack},
      {"@blocked", theme.blocked},
      {"@linearLine", theme.linearLine},
      {"@opaqueLine", theme.opaqueLine},
      {"@centeringLine", theme.classes.centering},
      {"@chosen", theme.classes.chosen},
  };
  for (const auto& [name, color] : colors) sheet.replace(QLatin1String(name), color.name());
  sheet.replace(QLatin1String("@mono"), monoFont().family());
  return withTextScaled(sheet, textScale);
}

constexpr QLatin1String kSchemeNames[] = {QLatin1String("system"), QLatin1String("light"),
                                          QLatin1String("dark")};  // by ColorScheme

}  // namespace

ColorScheme colorSchemeFromName(const QString& name) {
  const auto* found = std::find(std::begin(kSchemeNames), std::end(kSchemeNames), name);
  return found == std::end(kSchemeNames) ? ColorScheme::FollowDesktop
                                         : static_cast<ColorScheme>(found - std::begin(kSchemeNames));
}

QString colorSchemeName(ColorScheme scheme) { return kSchemeNames[static_cast<size_t>(scheme)]; }

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
               QColor(0xD55E00), QColor(0xCC79A7), QColor(0xE69F00), QColor(0x6C4AB6)};
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
  t.classes.rmsNorm = QColor(0x8E6FE0);
  return t;
}

QColor Theme::classColor(QChar letter) const {
  constexpr std::pair<char16_t, QColor ClassColors::*> kColors[] = {
      {u'L', &ClassColors::linear},   {u'S', &ClassColors::scalar},  {u'R', &ClassColors::residual},
      {u'Z', &ClassColors::zeroMean}, {u'O', &ClassColors::opaque},  {u'A', &ClassColors::centering},
      {u'N', &ClassColors::chosen},   {u'M', &ClassColors::rmsNorm}, {u'B', &ClassColors::linear}};
  for (const auto& [each, color] : kColors) {
    if (letter == each) return classes.*color;
  }
  return textFaint;
}

Theme themeOf(const QPalette& palette) { return desktopIsDark(palette) ? darkTheme() : lightTheme(); }

Theme themeOf(const QWidget* widget) { return themeOf(widget->palette()); }

bool desktopIsDark(const QPalette& desktopPalette) {
  return desktopPalette.color(QPalette::Active, QPalette::WindowText).lightness() > 127;
}

// The application's own font carries the size of text that was chosen.
double textScale() {
  const int base = QFont().pixelSize();
  return base > 0 ? static_cast<double>(base) / kBaseFontPixels : 1;
}

int grown(int pixels) { return qRound(pixels * textScale()); }

QFont uiFont(int pixels, QFont::Weight weight) {
  QFont font;
  const QString family = firstInstalled({QStringLiteral("Inter"), QStringLiteral("Inter Variable")});
  if (!family.isEmpty()) font.setFamily(family);
  font.setPixelSize(grown(pixels));
  font.setWeight(weight);
  return font;
}

QFont monoFont(int pixels, QFont::Weight weight) {
  QFont font = QFontDatabase::systemFont(QFontDatabase::FixedFont);
  const QString family = firstInstalled({QStringLiteral("JetBrains Mono"), QStringLiteral("Cascadia Mono"),
                                         QStringLiteral("DejaVu Sans Mono"), QStringLiteral("Liberation Mono")});
  if (!family.isEmpty()) font.setFamily(family);
  font.setStyleHint(QFont::Monospace);
  font.setPixelSize(grown(pixels));
  font.setWeight(weight);
  return font;
}

void applyTheme(QApplication& application, const Theme& theme, int basePixels) {
  // Where one sheet follows another, Qt polishes each widget once for itself and once for each of its ancestors; where
  // there was none, once.
  if (application.styleSheet().isEmpty()) QApplication::setStyle(QStyleFactory::create(QStringLiteral("Fusion")));
  application.setStyleSheet({});
  QApplication::setPalette(paletteFor(theme));
  QFont font = uiFont();
  font.setPixelSize(basePixels);
  if (font != QApplication::font()) QApplication::setFont(font);
  application.setStyleSheet(styleSheetFor(theme, static_cast<double>(basePixels) / kBaseFontPixels));
}

}  // namespace normlens::ui
