// Python lines that run an exported file where its target runs it, or fold a module that is not in a file. Thread:
// pure.
#pragma once

#include <QString>
#include <QStringList>

namespace normlens::ui {

// format: as protocol::ModelInfo::format. target: a TargetInfo's name. inputs: the model's, by name.
[[nodiscard]] QString runSnippet(const QString& format, const QString& target, const QString& file,
                                 const QStringList& inputs);
[[nodiscard]] QString moduleSnippet(const QStringList& inputs);
[[nodiscard]] QString folderSnippet();

}  // namespace normlens::ui
