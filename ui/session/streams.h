// The residual streams that the open model would lose a channel of, by the plan that is shown: requested while somebody
// looks. What was written of them is kept until the model, its inputs, the plan or the padding change.
//
// Writing is a job of the session: Session::narrowTo(). Thread: GUI thread.
#pragma once

#include <optional>

#include "core/protocol/stream_messages.h"
#include "ui/session/engine_run.h"

namespace normlens::ui {

class Streams final : public EngineRun {
  Q_OBJECT

 public:
  explicit Streams(Session* session);  // its owner

  void setWatched(bool watched);                // somebody looks
  void setPadding(const std::string& padding);  // "none", "even", "64"
  [[nodiscard]] const std::string& padding() const { return padding_; }
  [[nodiscard]] protocol::StreamParams params() const;
  // nullopt: not requested yet, or not answered.
  [[nodiscard]] const std::optional<protocol::StreamReport>& report() const { return report_; }
  [[nodiscard]] QString obstacle() const;  // why none can be written now; empty: it can
  [[nodiscard]] const std::optional<protocol::NarrowResult>& result() const { return result_; }
  void made(protocol::NarrowResult&& result);  // for the session

 Q_SIGNALS:
  void written();  // result() holds what; after changed()

 private:
  void askIfWatched();
  void forgetAndAsk();
  void clear() override;

  std::string padding_ = protocol::StreamParams().padding;
  std::optional<protocol::StreamReport> report_;
  std::optional<protocol::NarrowResult> result_;
  protocol::StreamParams askedFor_;
  bool watched_ = false;
};

}  // namespace normlens::ui
