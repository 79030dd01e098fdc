#include "ui/graphview/box_style.h"

#include "ui/graphview/marks/heat.h"

namespace normlens::graphview {

using layout::BoxKind;

QColor mixed(const QColor& a, const QColor& b, double amount) {
  const auto channel = [amount](int x, int y) { return qRound(x * amount + y * (1 - amount)); };
  return {channel(a.red(), b.red()), channel(a.green(), b.green()), channel(a.blue(), b.blue())};
}

namespace {

BoxStyle opStyle(char letter, const BoxState& state, const ui::Theme& theme) {
  // An RMSNorm stays one when chosen.
  const QColor color = letter == 'M'   ? theme.classes.rmsNorm
                       : state.chosen  ? theme.classes.chosen
                       : state.blocker ? theme.classes.opaque
                                       : theme.classColor(QLatin1Char(letter));
  const QColor ground = theme.panel;
  const bool dark = theme.dark;
  BoxStyle style;
  style.fill = mixed(color, ground, dark ? 0.22 : 0.12);
  style.border = mixed(color, ground, dark ? 0.55 : 0.6);
  style.bar = color;
  style.text = theme.text;
  if (state.lit) {
    style.fill = mixed(color, ground, dark ? 0.34 : 0.18);
    style.border = dark ? mixed(color, QColor(Qt::white), 0.9) : mixed(color, QColor(Qt::black), 0.92);
    style.borderWidth = state.chosen || state.blocker ? 2 : 1.5;
    style.bar = QColor();
  }
  if (state.chosen || state.blocker) {
    style.glow = state.chosen ? theme.classes.chosen : color;
    style.glow.setAlpha(dark ? 96 : 92);
  }
  if (state.dim) {
    style.fill = mixed(color, theme.canvas, dark ? 0.10 : 0.05);
    style.border = mixed(color, theme.canvas, dark ? 0.26 : 0.28);
    style.bar = mixed(color, theme.canvas, 0.36);
    style.text = mixed(theme.textFaint, theme.canvas, dark ? 0.8 : 0.85);
  }
  return style;
}

BoxStyle plainStyle(const BoxState& state, const ui::Theme& theme) {
  BoxStyle style;
  style.fill = theme.panel;
  style.border = mixed(theme.textFaint, theme.panel, 0.5);
  style.text = theme.text;
  if (state.lit) {
    const QColor color = state.blocker ? theme.opaqueLine : theme.streamLine;
    style.fill = mixed(color, theme.panel, theme.dark ? 0.24 : 0.10);
    style.border = mixed(color, theme.panel, 0.8);
    style.borderWidth = 1.5;
  }
  if (state.dim) {
    style.fill = mixed(theme.panel, theme.canvas, 0.7);
    style.border = mixed(theme.textFaint, theme.canvas, 0.28);
    style.text = mixed(theme.textFaint, theme.canvas, 0.85);
  }
  return style;
}

// Blue is for time alone. Even the darkest keeps the text of the theme readable.
void addHeat(BoxStyle& style, const BoxState& state, const ui::Theme& theme) {
  const double share = static_cast<double>(state.heat) / Heat::kLevels;
  style.fill = heatColor(state.heat, theme);
  style.border = mixed(theme.accent, theme.panel, state.heat == 0 ? 0.12 : 0.3 + 0.6 * share);
  style.bar = QColor();
  style.text = state.heat == 0 ? theme.textSoft : theme.text;
}

void addAttention(BoxStyle& style, const BoxState& state, const ui::Theme& theme) {
  if (state.hovered && !state.lit) style.border = mixed(style.border, theme.text, 0.6);
  if (!state.selected || state.chosen || state.blocker) return;  // those are conspicuous enough
  style.glow = theme.accentText;
  style.glow.setAlpha(70);
  if (!state.lit) {
    style.border = theme.accentText;
    style.borderWidth = 2;
  }
}

}  // namespace

QColor heatColor(int level, const ui::Theme& theme) {
  return level == 0 ? theme.canvas : mixed(theme.accent, theme.panel, 0.04 + 0.5 * level / Heat::kLevels);
}

BoxStyle boxStyle(BoxKind kind, char letter, const BoxState& state, const ui::Theme& theme) {
  const bool plain = kind == BoxKind::Card || kind == BoxKind::Terminal;
  BoxStyle style = plain ? plainStyle(state, theme) : opStyle(letter, state, theme);
  if (kind == BoxKind::Sum) {
    style.bar = QColor();
    style.borderWidth = 2;
    style.border = state.dim ? style.border : state.chosen || state.blocker ? style.border : theme.streamLine;
  }
  if (state.heat >= 0) addHeat(style, state, theme);
  addAttention(style, state, theme);
  return style;
}

BoxStyle frameStyle(int depth, const BoxState& state, const ui::Theme& theme) {
  BoxStyle style;
  const QColor raised = theme.dark ? mixed(theme.panel, theme.hover, 0.4) : theme.panel;
  const QColor sunken = theme.dark ? theme.panel : theme.chrome;
  style.fill = depth % 2 == 0 ? sunken : raised;
  style.border = mixed(theme.textFaint, style.fill, 0.42);
  style.text = theme.textSoft;
  if (state.hovered) style.border = mixed(style.border, theme.text, 0.75);
  if (state.selected) {
    style.border = theme.accentText;
    style.borderWidth = 1.5;
  }
  return style;
}

}  // namespace normlens::graphview
