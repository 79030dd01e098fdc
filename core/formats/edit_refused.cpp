#include "core/formats/edit_refused.h"

#include <new>

namespace normlens::formats {

Error editError(const std::string& failed) {
  try {
    throw;
  } catch (const EditRefused& refused) {
    return {ErrorCode::Refused, failed + ": " + refused.what(), {}};
  } catch (const std::bad_alloc&) {
    return {ErrorCode::Internal, failed + ": there is not enough memory for the changed weights", {}};
  } catch (const std::exception& error) {
    return {ErrorCode::Internal, failed + ": " + error.what(), {}};
  }
}

}  // namespace normlens::formats
