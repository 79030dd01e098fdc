// How much memory a process of this machine holds.
#pragma once

#include <QtGlobal>
#include <optional>

namespace normlens::ui {

// Resident set in bytes; nullopt when there is no such process here.
[[nodiscard]] std::optional<qint64> residentBytes(qint64 processId);

}  // namespace normlens::ui
