#include "ui/session/lab/run_store.h"

#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QSaveFile>
#include <QStandardPaths>
#include <algorithm>
#include <sstream>

#include "core/base/files.h"

namespace normlens::ui {
namespace {

constexpr size_t kMostBytes = size_t{512} << 20;  // Limits a file that is read.
constexpr int kMostNumber = 1'000'000'000;

const QString kSettings = QStringLiteral("run.json"), kRecords = QStringLiteral("records.jsonl");
const QString kResult = QStringLiteral("result.json");

// Nothing, where it is not there, too large or no plain file.
std::string readAll(const QString& path) {
  return files::readSmall(path.toStdString(), kMostBytes).value_or(std::string());
}

bool writeAll(const QString& path, const std::string& text) {
  QSaveFile file(path);
  return file.open(QIODevice::WriteOnly) && file.write(QByteArray::fromStdString(text)) >= 0 && file.commit();
}

QString inFolder(const QString& folder, const QString& name) { return folder + u'/' + name; }

// Its last line may be cut off.
void readLog(KeptRun& run) {
  std::istringstream lines(readAll(inFolder(run.folder, kRecords)));
  for (std::string line; std::getline(lines, line);) {
    if (const auto record = lab::readRunRecord(line)) addRecord(run, *record);
  }
}

std::optional<KeptRun> readRun(const QString& folder, int number) {
  const auto settings = lab::readRunSettings(readAll(inFolder(folder, kSettings)));
  if (!settings) return std::nullopt;
  KeptRun run;
  run.number = number;
  run.folder = folder;
  run.name = std::to_string(number);
  run.settings = *settings;
  const auto result = lab::readRunResult(readAll(inFolder(folder, kResult)));
  if (result && result->settings == run.settings) takeResult(run, *result);
  if (run.isDone()) return run;
  // One that was stopped may have gone on, and been interrupted.
  const auto before = run.records;
  readLog(run);
  if (run.records != before) {  // The findings are about fewer epochs.
    run.end = lab::RunEnd::Open;
    run.findings.clear();
    run.costs.clear();
  }
  return run;
}

std::vector<int> numbersIn(const QString& folder) {
  std::vector<int> numbers;
  for (const QString& name : QDir(folder).entryList(QDir::Dirs | QDir::NoDotAndDotDot)) {
    const int number = name.toInt();
    if (number > 0 && number <= kMostNumber && name == QString::number(number)) numbers.push_back(number);
  }
  std::ranges::sort(numbers, std::greater<>());
  return numbers;
}

}  // namespace

std::vector<KeptRun> keptRuns(const QString& folder) {
  std::vector<KeptRun> runs;
  for (const int number : numbersIn(folder)) {
    if (runs.size() == kMostKeptRuns) break;
    if (auto run = readRun(inFolder(folder, QString::number(number)), number)) runs.push_back(std::move(*run));
  }
  return runs;
}

Result<KeptRun> makeRun(const QString& folder, const lab::RunSettings& settings) {
  const auto numbers = numbersIn(folder);
  KeptRun run;
  run.number = numbers.empty() ? 1 : numbers.front() + 1;
  run.folder = inFolder(folder, QString::number(run.number));
  run.name = std::to_string(run.number);
  run.settings = settings;
  const auto failed = [&] {
    return fail(ErrorCode::WriteFailed, "the folder " + run.folder.toStdString() + " cannot be written");
  };
  if (!QDir().mkpath(run.folder)) return failed();
  if (!keepSettings(run)) return failed();
  return run;
}

bool keepSettings(const KeptRun& run) {
  return writeAll(inFolder(run.folder, kSettings), lab::writeRunSettings(run.settings));
}

void addRecord(KeptRun& run, const lab::RunRecord& record) {
  const lab::RunMember& of = record.member;
  const auto [place, isNew] = run.places.try_emplace(
      {record.event, of.network, of.layers, of.optimizer, of.seed, of.precision, record.epoch}, run.records.size());
  if (isNew) {
    run.records.push_back(record);
  } else {
    run.records[place->second] = record;
  }
}

bool logRecord(const KeptRun& run, const lab::RunRecord& record) {
  QFile file(inFolder(run.folder, kRecords));
  if (!file.open(QIODevice::WriteOnly | QIODevice::Append)) return false;
  const QByteArray line = QByteArray::fromStdString(lab::writeRunRecord(record)).trimmed() + '\n';
  return file.write(line) == line.size() && file.flush();
}

void takeResult(KeptRun& run, const lab::RunResult& result) {
  run.name = result.run;
  run.records.clear();
  run.places.clear();
  for (const lab::RunRecord& record : result.records) addRecord(run, record);
  run.findings = lab::decidedFindings(result);  // one of an earlier version may have decided before its end
  run.costs = result.costs;
  run.machine = QString::fromStdString(result.machine);
  run.ended = QFileInfo(inFolder(run.folder, kResult)).lastModified();
  run.seconds = result.seconds;
  run.end = result.end;
}

lab::RunResult resultOf(const KeptRun& run) {
  lab::RunResult result;
  result.run = run.name;
  result.settings = run.settings;
  result.end = run.end;
  result.records = run.records;
  result.findings = run.findings;
  result.costs = run.costs;
  result.machine = run.machine.toStdString();
  result.seconds = run.seconds;
  return result;
}

bool keepResult(KeptRun& run, const lab::RunResult& result) {
  takeResult(run, result);
  return writeAll(inFolder(run.folder, kResult), lab::writeRunResult(result));
}

bool KeptRun::hasCheckpoint() const { return QFile::exists(inFolder(folder, QStringLiteral("checkpoint"))); }

QString networkFile(const KeptRun& run, const lab::RunMember& member) {
  const QString name = QString::fromStdString(lab::memberName(member, run.settings) + ".pt");
  const QString path = inFolder(run.folder, name);
  return QFile::exists(path) ? path : QString();
}

QString usualRunsFolder() {
  return QStandardPaths::writableLocation(QStandardPaths::AppLocalDataLocation) + QStringLiteral("/runs");
}

}  // namespace normlens::ui
