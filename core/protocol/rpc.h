// JSON-RPC 2.0 envelopes around the messages, for both ends.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/protocol/json.h"

namespace normlens::protocol {

struct RpcFailure {
  RpcError code = RpcError::InternalError;
  std::string message;
  std::string errorCode;  // The code of normlens::Error ("unreadable"), for RpcError::EngineError.
  Hint hint;
};

// One received message: a request (id and method), a notification (method only) or a reply (id only).
struct RpcMessage {
  std::optional<int64_t> id;
  std::string method;
  nlohmann::json params;              // null when absent
  nlohmann::json result;              // Set in a reply that is no error.
  std::optional<RpcFailure> failure;  // Set in an error reply.

  [[nodiscard]] bool isReply() const { return method.empty(); }
  [[nodiscard]] bool isRequest() const { return id.has_value() && !method.empty(); }
};

// The RPC error for a failure of the engine: Cancelled becomes RequestCancelled, the rest EngineError with its code.
[[nodiscard]] RpcFailure rpcFailure(const Error& error);

// Bodies of frames (see encodeFrame).
[[nodiscard]] std::string requestBody(int64_t id, std::string_view method, const nlohmann::json& params);
[[nodiscard]] std::string notificationBody(std::string_view method, const nlohmann::json& params);
[[nodiscard]] std::string resultBody(int64_t id, nlohmann::json result);
[[nodiscard]] std::string failureBody(std::optional<int64_t> id, const RpcFailure& failure);  // no id: null

// A body that cannot be read is rejected: ParseError (not JSON) or InvalidRequest, with the id where one is usable.
struct RpcRejection {
  std::optional<int64_t> id;
  RpcFailure failure;
};
[[nodiscard]] tl::expected<RpcMessage, RpcRejection> parseMessage(std::string_view body);

}  // namespace normlens::protocol
