// The laboratory in words. Thread: pure functions.
#pragma once

#include <QString>
#include <QStringList>
#include <string_view>

#include "core/protocol/run_record.h"

namespace normlens::ui {

struct LabWord {
  QString name;
  QString line = {};  // what it is about, a few words; may be empty
  QString tip = {};   // one or two sentences; may be empty
};

// Name the words of lab::experiments(), networks(), optimizers(), activations() and dataKinds(). Any other word is its
// own name.
[[nodiscard]] LabWord experimentWord(std::string_view experiment);
[[nodiscard]] LabWord networkWord(std::string_view network);
[[nodiscard]] LabWord optimizerWord(std::string_view optimizer);
[[nodiscard]] LabWord activationWord(std::string_view activation);
[[nodiscard]] LabWord dataWord(std::string_view kind);

// "6 layers", "Adam", "seed 1", "float32".
[[nodiscard]] QString labMemberWord(std::string_view field, const lab::RunSettings& settings,
                                    const lab::RunMember& member);
[[nodiscard]] QString labRunWord(int run);  // "run 12"
// "Same weights within 1e-5 ... It holds: ..."
[[nodiscard]] QString findingWords(const lab::Finding& finding);

}  // namespace normlens::ui
