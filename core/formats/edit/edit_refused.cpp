#include "core/formats/edit/edit_refused.h"

#include "core/base/plain_error.h"

namespace normlens::formats {

Error editError(const std::string& failed) {
  try {
    throw;
  } catch (const EditRefused& refused) {
    return {ErrorCode::Refused, failed + ": " + refused.what(), {}};
  } catch (const std::exception& error) {
    return {ErrorCode::Internal, failed + ": " + plainError(error), {}};
  }
}

}  // namespace normlens::formats
