// Takes files between this machine and the engine's: a model there before it is opened, what was written there back.
//
//   courier.send(model, [](const Reply<QString>& there) { ... });   // the path to be opened
//   courier.fetch(there, here, [](const Reply<QString>& path) { ... });
// One at a time, in chunks that are as large as the connection takes in a moment. A transfer that was cut goes on where
// it was when it is asked for again. Thread: GUI thread; files are read, hashed and written on a worker.
#pragma once

#include <QElapsedTimer>
#include <QObject>
#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/protocol/file_messages.h"
#include "ui/client/question.h"

namespace normlens::ui {

class FileCourier final : public QObject {
  Q_OBJECT
  Q_DISABLE_COPY_MOVE(FileCourier)

 public:
  using Done = std::function<void(const Reply<QString>& path)>;

  explicit FileCourier(EngineClient* engine, QObject* parent = nullptr);  // engine: not owned, outlives this
  ~FileCourier() override;

  // The model, with the data files beside it that an ONNX model names. Nothing is sent of one that the engine sees
  // under the same path, or has had before.
  void send(const QString& model, const Done& done);
  // Names a place there for a file that will be fetched.
  void place(const QString& name, const Done& done);
  // ... and its data files. They are not needed there any more.
  void fetch(const QString& from, const QString& to, const Done& done);
  void stop();  // answered as cancelled
  void drop();  // not answered any more
  [[nodiscard]] bool running() const { return done_ != nullptr; }

  // A file to be sent, or fetched.
  struct Parcel {
    QString here;
    std::string name;  // without a folder
    std::string hash;
    int64_t bytes = 0;
  };
  struct Load {
    std::string folder;
    std::vector<Parcel> parcels;  // the model is the last
    QString error;                // a sentence; empty: all of it was read
  };

 Q_SIGNALS:
  void progressed(const QString& stage, double fraction);

 private:
  void begin(const Done& done);
  void end(const Reply<QString>& reply);
  void fail(const QString& message, const QString& hint = {});
  template <class Make, class Take>
  void work(Make make, Take take);
  template <class Params, class T>
  void ask(const protocol::Method<Params, T>& method, const std::type_identity_t<Params>& params,
           const std::type_identity_t<std::function<void(const T&)>>& take);
  void report(const QString& stage, int64_t of);
  void setPace();

  void pack(const QString& model);
  void sendNext();
  void sendChunk(const std::string& data, int64_t offset);
  void sendFrom(int64_t offset);
  void choose(const protocol::FolderList& list, const QString& to);
  void fetchNext();
  void fetchFrom(int64_t offset);
  void take(const protocol::FetchedChunk& chunk, int64_t offset);
  void finish(const std::string& hash);
  [[nodiscard]] const Parcel& parcel() const { return load_.parcels[at_]; }
  [[nodiscard]] QString partOf(const Parcel& parcel) const;  // here, until all of it has come

  EngineClient* engine_;
  Question question_;
  Done done_;
  std::shared_ptr<std::atomic<bool>> stopped_;  // read by the worker
  Load load_;
  size_t at_ = 0;      // in load_
  QString there_;      // the path that the engine names, or the folder that is fetched from
  int64_t chunk_ = 0;  // bytes
  QElapsedTimer clock_;
};

}  // namespace normlens::ui
