// `normlens VERB ...` is the engine's command line: this process becomes normlens-engine.
#pragma once

#include <string_view>

// True for what can only be a verb: lower-case letters and hyphens. A model's path has a dot or a slash in it.
[[nodiscard]] bool looksLikeVerb(std::string_view argument);

// Replaces the process by the normlens-engine beside it, with the same arguments. Returns only on failure, with the
// exit status, after a line on stderr.
int becomeEngine(char** arguments);
