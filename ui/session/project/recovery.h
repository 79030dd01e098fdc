// Keeps what is put aside against a crash, or when a window is closed with work that was not saved: one project file
// per window, in the application's data folder, with a lock beside it that shows whether the window still lives.
//
//   Recovery recovery(Recovery::folder());
//   recovery.keep(json);          // again and again
//   recovery.drop();              // nothing worth keeping any more
//   for (const QString& file : recovery.orphans()) ...   // Lists the files of windows that died.
// Thread: GUI thread.
#pragma once

#include <QLockFile>
#include <QString>
#include <QStringList>
#include <memory>
#include <string>

namespace normlens::ui {

class Recovery {
 public:
  explicit Recovery(const QString& folder);  // empty: nothing is kept
  ~Recovery();                               // an orderly end: drops
  Recovery(const Recovery&) = delete;
  Recovery& operator=(const Recovery&) = delete;

  [[nodiscard]] static QString usualFolder();

  bool keep(const std::string& content);  // all or nothing; false: it could not be written
  void drop();
  void leave();         // The file stays to be found; the next keep() writes another file.
  void leaveQuietly();  // the same, but found only by who opens its model again
  [[nodiscard]] static bool isQuiet(const QString& orphan);
  [[nodiscard]] QStringList orphans() const;   // newest first
  static void discard(const QString& orphan);  // the file and its lock
  [[nodiscard]] const QString& file() const { return file_; }

 private:
  QString folder_, file_;
  std::unique_ptr<QLockFile> lock_;  // held from the first keep() on
};

}  // namespace normlens::ui
