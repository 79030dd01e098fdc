// Resident memory of a process, from /proc.
#pragma once

#include <QtGlobal>

namespace normlens::bench {

[[nodiscard]] double residentMegabytes(qint64 process);  // 0 when there is no such process

}  // namespace normlens::bench
