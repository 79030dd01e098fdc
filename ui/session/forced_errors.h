// Measures how much the model's outputs change where one LayerNorm is folded against its verdict: type by type and norm
// by norm, each figure there as soon as the engine has it. Kept until the model or its inputs change.
//
// Runs beside the session's jobs; the engine does one thing at a time. Thread: GUI thread.
#pragma once

#include <QObject>
#include <deque>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/protocol/difference_messages.h"
#include "ui/client/question.h"

namespace normlens::ui {

class Session;

class ForcedErrors final : public QObject {
  Q_OBJECT

 public:
  explicit ForcedErrors(Session* session);  // its owner

  [[nodiscard]] static std::span<const std::string> types();  // in the order in which they are measured

  void start(const std::vector<int>& norms);  // what is measured already is not requested again
  void cancel();                              // what is done stays
  [[nodiscard]] bool runsFor(const std::vector<int>& norms) const { return running() && norms == wanted_; }
  [[nodiscard]] bool running() const { return question_.pending(); }
  [[nodiscard]] QString obstacle() const;                     // why it cannot be started; or empty
  [[nodiscard]] QString stage() const { return stage_; }      // in words, while it runs
  [[nodiscard]] double fraction() const;                      // of all that was requested
  [[nodiscard]] QString problem() const { return problem_; }  // why it ended early; a sentence, or empty
  // nullptr: not measured.
  [[nodiscard]] const protocol::ForcedError* at(int norm, const std::string& type) const;
  [[nodiscard]] bool has(int norm) const;  // in all types

 Q_SIGNALS:
  void changed();  // figures, running, stage or problem

 private:
  void next();
  void received(Reply<protocol::ForcedError>& reply);
  void tell(const QString& stage);
  void stop();
  void forget();

  using Place = std::pair<int, std::string>;  // norm, type
  Session* session_;
  std::map<Place, protocol::ForcedError> figures_;
  std::deque<Place> queue_;
  size_t total_ = 0;         // that it began with
  std::vector<int> wanted_;  // by the last start
  Question question_;
  QString stage_, problem_;
};

}  // namespace normlens::ui
