// Graphviz in a process of its own (normlens-layout), because it can neither be stopped nor be trusted to come to an
// end.
//
// The process is started when it is first needed, serves any number of graphs, is killed when one takes too long, and
// ends with the thread that started it. Thread: one.
#pragma once

#include <sys/types.h>

#include <QByteArray>
#include <QString>
#include <chrono>
#include <optional>
#include <stop_token>

#include "core/base/result.h"
#include "ui/layout/dot/dot_graph.h"

namespace normlens::layout {

struct DotProgram {
  QString path;                             // empty: normlens-layout beside this program
  std::chrono::milliseconds deadline{500};  // for one graph; a usual one takes 1 to 30
};

class DotProcess {
 public:
  explicit DotProcess(DotProgram program = {});
  ~DotProcess();  // kills it
  DotProcess(const DotProcess&) = delete;
  DotProcess& operator=(const DotProcess&) = delete;

  void start();  // so that it is ready when it is needed; nothing where it runs already

  // Errors: Cancelled, some 20 ms after the stop at most; Internal when there was no answer in time.
  [[nodiscard]] Result<DotDrawing> run(const DotGraph& graph, const std::stop_token& stop = {});

  [[nodiscard]] pid_t pid() const { return pid_; }  // -1: it does not run

 private:
  using Time = std::chrono::steady_clock::time_point;
  struct Wait {
    Time end;
    const std::stop_token& stop;
  };
  std::optional<QByteArray> ask(const QByteArray& request, const std::stop_token& stop);
  bool send(const QByteArray& bytes, const Wait& wait);
  bool receive(char* to, qsizetype size, const Wait& wait);
  std::optional<QByteArray> receiveFrame(const Wait& wait);
  [[nodiscard]] bool waitFor(short events, const Wait& wait) const;
  void kill();

  DotProgram program_;
  pid_t pid_ = -1;
  int socket_ = -1;     // Owned.
  bool ready_ = false;  // it has sent the ready frame
};

}  // namespace normlens::layout
