// The report of the fold that the window has made, as the method `report` gives it. Thread: one.
#pragma once

#include "core/protocol/report_messages.h"
#include "core/service/service.h"

namespace normlens::engine::report {

// Errors: Usage (nothing was folded, no such format), BadInput (a picture that is no drawing), Cancelled.
[[nodiscard]] Result<protocol::Report> reportOfLastFold(service::Service& service, protocol::ReportParams params,
                                                        const Task& task);

}  // namespace normlens::engine::report
