#include "ui/words/hint_words.h"

#include <QCoreApplication>

namespace normlens::ui {

QString hintWords(const Hint& hint) {
  constexpr std::array<const char*, namesOf(HintKey{}).size()> kPlaces = {
      "",
      QT_TRANSLATE_NOOP("HintWords", " under Inputs"),
      QT_TRANSLATE_NOOP("HintWords", " in Preferences"),
      QT_TRANSLATE_NOOP("HintWords", " in Preferences, or give inputs under Inputs"),
      QT_TRANSLATE_NOOP("HintWords", " in Preferences"),
      QT_TRANSLATE_NOOP("HintWords", " in the inspector, once the file itself is open"),
      QT_TRANSLATE_NOOP("HintWords", " with Export anyway"),
      QT_TRANSLATE_NOOP("HintWords", " with Use its settings and Start"),
      QT_TRANSLATE_NOOP("HintWords", " with portable norms")};
  if (hint.empty()) return {};
  return QString::fromStdString(hint.words) +
         QCoreApplication::translate("HintWords", kPlaces.at(static_cast<size_t>(hint.key)));
}

}  // namespace normlens::ui
