// Results at module borders: a value, or an Error that a user can read.
//
// Exceptions stay inside a module; whatever crosses a border is a Result. Thread: value types, no shared state.
#pragma once

#include <boost/preprocessor/cat.hpp>
#include <string>
#include <tl/expected.hpp>
#include <utility>

#include "core/base/words/hint.h"

namespace normlens {

// ErrorCode is the kind of a failure. The command line maps a code to its exit status (exitStatus in service/).
enum class ErrorCode {
  Usage,        // the caller requested something that makes no sense: exit 2
  Unreadable,   // no such file, truncated, corrupt, not a model: exit 3
  Unsupported,  // a sound file that NormLens cannot work with: exit 3
  BadInput,     // the given inputs do not fit the model: exit 3
  RunFailed,    // the model raised an error while it ran: exit 3
  WriteFailed,  // the result could not be written: exit 3
  Refused,      // an edit that would change an output, or a failed proof: exit 1
  Cancelled,    // the user stopped it
  Internal,     // a defect of NormLens
};

[[nodiscard]] const char* errorCodeName(ErrorCode code);

struct Error {
  ErrorCode code = ErrorCode::Internal;
  std::string message;  // one plain sentence: what is wrong, in which file
  Hint hint;            // Advises how to go on; may be empty.
};

template <class T>
using Result = tl::expected<T, Error>;
using Status = tl::expected<void, Error>;

inline tl::unexpected<Error> fail(ErrorCode code, std::string message, Hint hint = {}) {
  return tl::unexpected<Error>(Error{code, std::move(message), std::move(hint)});
}

}  // namespace normlens

// Declares a variable with the value of a Result, or returns the Result's error from the function around it. C++ 20 has
// no operator for this; the names are those that the field uses.
#define ASSIGN_OR_RETURN(declaration, ...) \
  NORMLENS_ASSIGN_OR_RETURN(BOOST_PP_CAT(tried_, __LINE__), declaration, __VA_ARGS__)
#define NORMLENS_ASSIGN_OR_RETURN(tried, declaration, ...)     \
  auto tried = __VA_ARGS__;                                    \
  if (!tried) return tl::unexpected(std::move(tried).error()); \
  declaration = *std::move(tried)

// Returns the error of a Status or a Result, if it has one, from the function around it.
#define RETURN_IF_ERROR(...) NORMLENS_RETURN_IF_ERROR(BOOST_PP_CAT(tried_, __LINE__), __VA_ARGS__)
#define NORMLENS_RETURN_IF_ERROR(tried, ...)                                               \
  do {                                                                                     \
    if (auto tried = __VA_ARGS__; !tried) return tl::unexpected(std::move(tried).error()); \
  } while (false)
