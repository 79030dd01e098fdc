// The report of the fold that the window has made, as the method `report` gives it. Thread: one.
#pragma once

#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/protocol/report_messages.h"
#include "core/service/service.h"

namespace normlens::engine::report {

// Checks a drawing from another program before it is put into the page.

// Returns the text from <svg> to </svg>, as it is, if it holds only elements that draw shapes and text: nothing that
// runs, that is fetched, or that ends the drawing before its end. Error: BadInput, with what it holds.
[[nodiscard]] Result<std::string> drawingOnly(std::string_view svg);

// Error: BadInput: a picture that is no drawing, a color that is none, a place of no norm or of no size.
[[nodiscard]] Result<protocol::ReportGraph> checkedGraph(protocol::ReportGraph graph, size_t norms);

// Errors: Usage (nothing was folded, no such format), those of checkedGraph, Cancelled.
[[nodiscard]] Result<protocol::Report> reportOfLastFold(service::Service& service, protocol::ReportParams params,
                                                        const Task& task);

}  // namespace normlens::engine::report
