// What a window must outlive: an engine that a hostile model has taken over, or that is broken.
#pragma once

#include <string>

namespace normlens::fake {

// Writes to the stream behind the dispatcher's back, or stops the process. The rows are in attacks.cpp; an unknown name
// ends the process.
void attack(const std::string& how);

}  // namespace normlens::fake
