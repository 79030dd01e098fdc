// The SHA-256 of a file, taken on a worker thread.
//
//   FileHash hash;
//   connect(&hash, &FileHash::done, ...);
//   hash.start(path);   // a hash under way is given up
// It is read, not mapped: a file that is cut short meanwhile has another hash. Thread: GUI thread; done() arrives
// there.
#pragma once

#include <QObject>
#include <QString>
#include <atomic>
#include <memory>

namespace normlens::ui {

class FileHash final : public QObject {
  Q_OBJECT
  Q_DISABLE_COPY_MOVE(FileHash)

 public:
  explicit FileHash(QObject* parent = nullptr) : QObject(parent) {}
  ~FileHash() override { stop(); }

  void start(const QString& path);
  void stop();

 Q_SIGNALS:
  void done(const QString& path, const QString& sha256);  // lower-case hex; empty: the file could not be read

 private:
  std::shared_ptr<std::atomic<bool>> stopped_;  // of the hash under way; shared with its worker
};

}  // namespace normlens::ui
