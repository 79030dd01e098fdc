// Narrow streams in words. Thread: GUI thread.
#pragma once

#include <QString>
#include <QVector>

#include "core/protocol/stream_messages.h"

namespace normlens::ui {

// Describes the fold that narrow streams are based on.
[[nodiscard]] QString foldWords(const protocol::PlanInfo& plan);
[[nodiscard]] QString streamName(const protocol::StreamInfo& stream);   // "768 → 767"; "768 stays"
[[nodiscard]] QString streamFacts(const protocol::StreamInfo& stream);  // "25 norms · 24 adds"
[[nodiscard]] QString streamTip(const protocol::StreamInfo& stream);    // all of it, in sentences
// "−28.6 → −43.0%": the fold alone, and the narrow model, beside the original.
[[nodiscard]] QString savingWords(const protocol::StreamFigures& of);
[[nodiscard]] QString savingTip(const protocol::StreamFigures& of, bool bytes);
// Reports what became of the file, in a sentence or two.
[[nodiscard]] QString resultWords(const protocol::NarrowResult& result);

}  // namespace normlens::ui
