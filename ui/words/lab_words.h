// The laboratory in words. Thread: pure functions.
#pragma once

#include <QString>
#include <QStringList>

#include "core/protocol/run_record.h"

namespace normlens::ui {

struct LabWord {
  QString name;
  QString line = {};  // Says in a few words what it is about; may be empty.
  QString tip = {};   // one or two sentences; may be empty
};

[[nodiscard]] LabWord labWord(lab::Experiment experiment);
[[nodiscard]] LabWord labWord(lab::NormUse network);
[[nodiscard]] LabWord labWord(lab::OptimizerKind optimizer);
[[nodiscard]] LabWord labWord(lab::Architecture architecture);
[[nodiscard]] LabWord labWord(lab::Schedule schedule);
[[nodiscard]] LabWord labWord(lab::Activation activation);
[[nodiscard]] LabWord labWord(lab::DataKind kind);

// "6 layers", "Adam".
[[nodiscard]] QString labLayersWord(const lab::RunSettings& settings, const lab::RunMember& member);
[[nodiscard]] QString labOptimizerWord(const lab::RunSettings& settings, const lab::RunMember& member);
[[nodiscard]] QString labRunWord(int run);  // "run 12"
// "Same weights within 1e-5 ... It holds: ..."
[[nodiscard]] QString findingWords(const lab::Finding& finding);

}  // namespace normlens::ui
