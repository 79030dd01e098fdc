// Command lines that can be pasted into a shell.
#pragma once

#include <string>

namespace normlens::engine {

// Quotes the word where it has to be. Thread: pure.
[[nodiscard]] std::string shellWord(const std::string& word);

// Returns the command line of this process, as it was typed.
[[nodiscard]] std::string commandLine();

}  // namespace normlens::engine
