#include "tests/bench/view/start_bench.h"

#include <QElapsedTimer>
#include <QFileInfo>
#include <QProcess>
#include <QProcessEnvironment>
#include <algorithm>
#include <cstdio>
#include <optional>
#include <vector>

#include "tests/bench/view/memory.h"

namespace normlens::bench {
namespace {

constexpr int kRuns = 5;
constexpr int kPatienceMs = 60'000;

struct Start {
  qint64 milliseconds = 0;
  double megabytes = 0;  // resident, of the window's process
};

// From the start of the process to the line that names the milestone.
std::optional<Start> timeTo(const char* milestone, const QString& program, const QStringList& arguments) {
  QProcess process;
  QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
  if (!environment.contains(QStringLiteral("QT_QPA_PLATFORM")))
    environment.insert(QStringLiteral("QT_QPA_PLATFORM"), QStringLiteral("offscreen"));
  process.setProcessEnvironment(environment);
  process.setReadChannel(QProcess::StandardError);
  QElapsedTimer timer;
  timer.start();
  process.start(program, arguments + QStringList{QStringLiteral("--times")});
  QByteArray said;
  std::optional<Start> found;
  while (!found && timer.elapsed() < kPatienceMs && process.waitForReadyRead(kPatienceMs)) {
    said += process.readAllStandardError();
    if (said.contains(QByteArray("normlens: ") + milestone))
      found = {timer.elapsed(), residentMegabytes(process.processId())};
  }
  process.kill();
  process.waitForFinished();
  return found;
}

bool bench(const char* milestone, const QString& program, const QStringList& arguments, const QString& what) {
  std::vector<Start> runs;
  for (int run = 0; run <= kRuns; ++run) {
    const auto start = timeTo(milestone, program, arguments);
    if (!start) {
      std::printf("%-44s FAILED: \"%s\" was not reached\n", qPrintable(what), milestone);
      return false;
    }
    if (run > 0) runs.push_back(*start);  // the first one warms the disk's cache
  }
  std::sort(runs.begin(), runs.end(), [](const Start& a, const Start& b) { return a.milliseconds < b.milliseconds; });
  const Start& middle = runs[runs.size() / 2];
  std::printf("%-44s %5lld ms (%lld to %lld), window's memory %.0f MB\n", qPrintable(what),
              static_cast<long long>(middle.milliseconds), static_cast<long long>(runs.front().milliseconds),
              static_cast<long long>(runs.back().milliseconds), middle.megabytes);
  return true;
}

}  // namespace

bool benchStarts(const QString& program, const QStringList& models) {
  std::printf("From the start of the program, median of %d; software rendering\n", kRuns);
  bool reached = bench("window", program, {}, QStringLiteral("a window that can be used"));
  for (const QString& model : models) {
    reached =
        bench("graph", program, {model}, QStringLiteral("first picture of ") + QFileInfo(model).fileName()) && reached;
  }
  return reached;
}

}  // namespace normlens::bench
