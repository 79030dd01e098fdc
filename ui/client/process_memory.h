// Measures the memory that a process of this machine holds.
#pragma once

#include <QtGlobal>
#include <optional>

namespace normlens::ui {

// Resident set in bytes; of a process that works through children theirs, as what it shares with them would count
// twice. nullopt when there is no such process here.
[[nodiscard]] std::optional<qint64> residentBytes(qint64 processId);

}  // namespace normlens::ui
