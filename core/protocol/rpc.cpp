#include "core/protocol/rpc.h"

#include "core/base/plain_error.h"

namespace normlens::protocol {
namespace {

nlohmann::json call(std::string_view method, const nlohmann::json& params) {
  nlohmann::json body = {{"jsonrpc", "2.0"}, {"method", method}};
  if (!params.is_null()) body["params"] = params;
  return body;
}

std::string textField(const nlohmann::json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

RpcFailure readFailure(const nlohmann::json& error) {
  RpcFailure failure;
  if (!error.is_object()) return failure;
  const auto code = error.find("code");
  if (code != error.end() && code->is_number_integer()) failure.code = static_cast<RpcError>(code->get<int>());
  failure.message = textField(error, "message");
  if (const auto data = error.find("data"); data != error.end() && data->is_object()) {
    failure.errorCode = textField(*data, "code");
    const auto hint = data->find("hint");
    if (hint != data->end()) failure.hint = decode<Hint>(*hint).value_or(Hint(textField(*data, "hint")));
  }
  return failure;
}

tl::unexpected<RpcRejection> reject(std::optional<int64_t> id, RpcError code, std::string message) {
  return tl::unexpected<RpcRejection>(RpcRejection{id, RpcFailure{code, std::move(message), {}, {}}});
}

}  // namespace

RpcFailure rpcFailure(const Error& error) {
  if (error.code == ErrorCode::Cancelled) return {RpcError::RequestCancelled, error.message, {}, {}};
  return {RpcError::EngineError, error.message, errorCodeName(error.code), withMemoryLimit(error).hint};
}

std::string requestBody(int64_t id, std::string_view method, const nlohmann::json& params) {
  nlohmann::json body = call(method, params);
  body["id"] = id;
  return dumpJson(body);
}

std::string notificationBody(std::string_view method, const nlohmann::json& params) {
  return dumpJson(call(method, params));
}

std::string resultBody(int64_t id, nlohmann::json result) {
  return dumpJson({{"jsonrpc", "2.0"}, {"id", id}, {"result", std::move(result)}});
}

std::string failureBody(std::optional<int64_t> id, const RpcFailure& failure) {
  nlohmann::json body = {{"jsonrpc", "2.0"}, {"id", toJson(id)}};
  body["error"] = {{"code", static_cast<int>(failure.code)}, {"message", failure.message}};
  if (!failure.errorCode.empty()) body["error"]["data"] = {{"code", failure.errorCode}, {"hint", toJson(failure.hint)}};
  return dumpJson(body);
}

tl::expected<RpcMessage, RpcRejection> parseMessage(std::string_view body) {
  auto parsed = parseJson(body);
  if (!parsed) return reject(std::nullopt, RpcError::ParseError, "the message " + parsed.error().message);
  nlohmann::json& json = *parsed;
  if (!json.is_object()) return reject(std::nullopt, RpcError::InvalidRequest, "the message is not an object");
  RpcMessage message;
  const auto id = json.find("id");
  const bool nullId = id == json.end() || id->is_null();
  if (!nullId) {
    if (!id->is_number_integer()) {
      return reject(std::nullopt, RpcError::InvalidRequest, "id must be a whole number");
    }
    message.id = id->get<int64_t>();
  }
  if (const auto method = json.find("method"); method != json.end()) {
    if (!method->is_string() || method->get_ref<const std::string&>().empty()) {
      return reject(message.id, RpcError::InvalidRequest, "method must be a text");
    }
    message.method = method->get<std::string>();
    if (const auto params = json.find("params"); params != json.end()) message.params = std::move(*params);
    return message;
  }
  const auto error = json.find("error");
  const auto result = json.find("result");
  if (error == json.end() && result == json.end()) {
    return reject(message.id, RpcError::InvalidRequest, "the message has neither a method nor a result");
  }
  if (error != json.end()) {
    message.failure = readFailure(*error);
  } else {
    message.result = std::move(*result);
  }
  return message;
}

}  // namespace normlens::protocol
