#include "core/base/result.h"

namespace normlens {

const char* errorCodeName(ErrorCode code) {
  switch (code) {
    case ErrorCode::Usage:
      return "usage";
    case ErrorCode::Unreadable:
      return "unreadable";
    case ErrorCode::Unsupported:
      return "unsupported";
    case ErrorCode::BadInput:
      return "bad_input";
    case ErrorCode::RunFailed:
      return "run_failed";
    case ErrorCode::WriteFailed:
      return "write_failed";
    case ErrorCode::Refused:
      return "refused";
    case ErrorCode::Cancelled:
      return "cancelled";
    case ErrorCode::Internal:
      return "internal";
  }
  return "internal";
}

}  // namespace normlens
