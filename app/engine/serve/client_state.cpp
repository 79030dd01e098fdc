#include "app/engine/serve/client_state.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>

#include "core/protocol/methods.h"

namespace normlens::engine {
namespace {

namespace methods = protocol::methods;

constexpr std::array<std::string_view, 5> kStateMakers = {methods::kInitialize, methods::kOpen, methods::kSetInputs,
                                                          methods::kAnalyze, methods::kFold};

// A client's number may be of any type: the worker refuses it in words.
double numberIn(const nlohmann::json& params, const char* name) {
  const auto found = params.is_object() ? params.find(name) : params.end();
  return found != params.end() && found->is_number() ? found->get<double>() : 0;
}

}  // namespace

confine::Limits limitsOf(const nlohmann::json& params, confine::Limits usual) {
  constexpr double kMostSeconds = 1e7, kMostBytes = 1e18, kMsInSecond = 1000;
  const double seconds = std::min(numberIn(params, "time_limit"), kMostSeconds);
  const double bytes = std::min(numberIn(params, "memory_limit"), kMostBytes);
  if (seconds > 0) usual.setTime(std::chrono::milliseconds(static_cast<int64_t>(kMsInSecond * seconds)));
  if (bytes > 0) usual.memoryBytes = static_cast<int64_t>(bytes);
  return usual;
}

void ClientState::note(const Pending& request, std::vector<confine::HandedFile> files) {
  const auto* const step = std::ranges::find(kStateMakers, std::string_view(request.method));
  if (step == kStateMakers.end()) return;
  const auto at = step - kStateMakers.begin();
  std::erase_if(steps_, [&](const auto& entry) { return entry.first >= at; });
  steps_[at] = {request.body, std::move(files)};
}

void ClientState::dropLast() {
  if (hasModel()) steps_.erase(std::prev(steps_.end()));
}

void ClientState::forgetModel() {
  while (hasModel()) dropLast();
}

std::string ClientState::changedFile() const {
  for (const auto& [at, step] : steps_) {
    const auto changed = std::ranges::find_if(step.files, [](const auto& file) { return !file.isAsItWas(); });
    if (changed != step.files.end()) return changed->path;
  }
  return {};
}

Journal ClientState::journal(std::string notRun) const {
  Journal journal{{}, std::move(notRun)};
  for (const auto& [at, step] : steps_) journal.requests.push_back(step.body);
  return journal;
}

}  // namespace normlens::engine
