// normlens-layout: graphs in, drawings out, over the socket that is its standard input (ui/layout/dot/dot_wire.h).
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <optional>

#include "ui/layout/dot/dot_layout.h"
#include "ui/layout/dot/dot_wire.h"

namespace layout = normlens::layout;

namespace {

// False at the end of the window.
bool receive(char* to, qsizetype size) {
  for (qsizetype done = 0; done < size;) {
    const ssize_t got = read(STDIN_FILENO, to + done, static_cast<size_t>(size - done));
    if (got == 0 || (got < 0 && errno != EINTR)) return false;
    if (got > 0) done += got;
  }
  return true;
}

bool send(const QByteArray& bytes) {
  for (qsizetype done = 0; done < bytes.size();) {
    const ssize_t sent = write(STDIN_FILENO, bytes.constData() + done, static_cast<size_t>(bytes.size() - done));
    if (sent < 0 && errno != EINTR) return false;
    if (sent > 0) done += sent;
  }
  return true;
}

QByteArray answerTo(const QByteArray& request) {
  const std::optional<layout::DotGraph> graph = layout::graphFrom(request);
  if (!graph) return layout::emptyFrame();
  const auto drawing = layout::runDot(*graph);
  return drawing ? layout::framed(*drawing) : layout::emptyFrame();
}

}  // namespace

int main() {
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // Graphviz would not see that nobody waits any more
  if (!layout::prepareDot() || !send(layout::emptyFrame())) return 1;
  uint32_t length = 0;
  while (receive(reinterpret_cast<char*>(&length), sizeof(length)) && length <= layout::kMaxFrame) {
    QByteArray request(static_cast<qsizetype>(length), Qt::Uninitialized);
    if (!receive(request.data(), request.size()) || !send(answerTo(request))) return 0;
  }
  return 0;
}
