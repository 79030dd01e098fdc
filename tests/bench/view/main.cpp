// Measures the window: prints, asserts little, and is no test.
//
//   normlens-view-bench frames [2k|10k|50k]          frame times of the graph view; all three unless one is named
//   normlens-view-bench lessons ENGINE MODEL         frame times of the lessons' figures; ENGINE: normlens-engine
//   normlens-view-bench start PROGRAM [MODEL...]     PROGRAM: normlens; from its start to the first picture
#include <clocale>
#include <cstdio>

#include "tests/bench/view/frame_bench.h"
#include "tests/bench/view/frame_clock.h"
#include "tests/bench/view/lesson_bench.h"
#include "tests/bench/view/start_bench.h"
#include "tests/support/graph_documents.h"

namespace {

int benchAllFrames(const QString& only) {
  struct Size {
    const char* name;
    const char* title;
    int towers, blocks;
  };
  // A block is 37 nodes, of which about 24 are drawn when it is open.
  constexpr Size kSizes[] = {
      {"2k", "2,000 items", 21, 4}, {"10k", "10,000 nodes", 12, 22}, {"50k", "50,000 nodes", 24, 56}};
  bool good = true;
  for (const Size& size : kSizes) {
    if (!only.isEmpty() && only != QLatin1String(size.name)) continue;
    good = normlens::bench::benchFrames({size.title, normlens::test::towersDocument(size.towers, size.blocks)}) && good;
  }
  return good ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (qEnvironmentVariableIsEmpty("QT_QPA_PLATFORM")) qputenv("QT_QPA_PLATFORM", "offscreen");
  normlens::bench::FrameClock application(argc, argv);
  std::setlocale(LC_NUMERIC, "C");
  const QStringList words = QCoreApplication::arguments().mid(1);
  if (words.value(0) == QLatin1String("frames")) return benchAllFrames(words.value(1));
  if (words.value(0) == QLatin1String("lessons") && words.size() == 3)
    return normlens::bench::benchLessons(application, words[1], words[2]) ? 0 : 1;
  if (words.value(0) == QLatin1String("start") && words.size() > 1)
    return normlens::bench::benchStarts(words[1], words.mid(2)) ? 0 : 1;
  std::fputs("usage: normlens-view-bench frames [2k|10k|50k] | lessons ENGINE MODEL | start PROGRAM [MODEL...]\n",
             stderr);
  return 2;
}
