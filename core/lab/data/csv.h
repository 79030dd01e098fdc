// A table of numbers and a class in each row, as text: separated by commas, semicolons or tabs, whichever stands in the
// first line, which names the columns. Cells may be in double quotes. Thread: pure function.
#pragma once

#include <string>

#include "core/lab/data/split.h"

namespace normlens::lab {

// `target`: the head of the column with the class, any text; empty: the last. All other columns are numbers.
// Error: BadInput, what is wrong in half a sentence: "has no number in line 7, column \"height\": \"tall\"".
[[nodiscard]] Result<Rows> readCsv(const std::string& text, const std::string& target);

}  // namespace normlens::lab
