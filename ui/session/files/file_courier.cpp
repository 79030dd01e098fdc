#include "ui/session/files/file_courier.h"

#include <sys/stat.h>

#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QUuid>
#include <filesystem>
#include <set>
#include <utility>

#include "core/base/bytes/base64.h"
#include "core/base/bytes/running_hash.h"
#include "ui/client/on_worker.h"
#include "ui/words/format.h"

namespace normlens::ui {

namespace methods = protocol::methods;

namespace {

constexpr int64_t kLeastChunk = int64_t{64} << 10, kMostChunk = int64_t{2} << 20;

QString notWritten(const QString& path, const QString& why) {
  return FileCourier::tr("%1 could not be written: %2.").arg(path, why);
}

// size and nanoseconds
std::pair<int64_t, int64_t> stampOf(const QString& path) {
  constexpr int64_t kBillion = 1'000'000'000;
  struct stat info {};
  if (::stat(QFile::encodeName(path).constData(), &info) != 0) return {-1, -1};
  return {info.st_size, info.st_mtim.tv_sec * kBillion + info.st_mtim.tv_nsec};
}

bool isPlainName(const QString& name) { return !name.isEmpty() && !name.startsWith(u'.') && !name.contains(u'/'); }

// Returns the data files of its own folder that an ONNX model names: "location" is the key of their names.
std::set<QString> dataFilesOf(const QString& model) {
  QFile file(model);
  if (!model.endsWith(QStringLiteral(".onnx")) || !file.open(QIODevice::ReadOnly)) return {};
  const uchar* const mapped = file.map(0, file.size());
  if (mapped == nullptr) return {};
  const QByteArray bytes = QByteArray::fromRawData(reinterpret_cast<const char*>(mapped), file.size());
  const QByteArray key("\x0a\x08location\x12");
  const QDir folder = QFileInfo(model).dir();
  std::set<QString> names;
  for (qsizetype at = bytes.indexOf(key); at >= 0; at = bytes.indexOf(key, at + 1)) {
    const qsizetype begin = at + key.size();
    if (begin >= bytes.size()) break;
    const auto length = static_cast<unsigned char>(bytes[begin]);  // A name of more than 127 bytes is left out.
    const QString name = QString::fromUtf8(bytes.mid(begin + 1, length));
    if (isPlainName(name) && QFileInfo(folder.filePath(name)).isFile()) names.insert(name);
  }
  return names;
}

// Empty: it could not be read, or was stopped.
std::string fileHashOf(const QString& path, const std::atomic<bool>& stopped) {
  QFile file(path);
  if (!file.open(QIODevice::ReadOnly)) return {};
  RunningHash hash;
  QByteArray part(kMostChunk, Qt::Uninitialized);
  for (;;) {
    const qint64 got = stopped ? -1 : file.read(part.data(), part.size());
    if (got < 0) return {};
    if (got == 0) return hash.hex();
    hash.add(std::as_bytes(std::span(part.constData(), static_cast<size_t>(got))));
  }
}

FileCourier::Load loadOf(const QString& model, const std::atomic<bool>& stopped) {
  const QFileInfo info(model);
  FileCourier::Load load;
  RunningHash all;
  std::vector<QString> names;
  for (const QString& name : dataFilesOf(model)) names.push_back(name);
  names.push_back(info.fileName());
  for (const QString& name : names) {
    const QString path = info.dir().filePath(name);
    const FileCourier::Parcel parcel{path, name.toStdString(), fileHashOf(path, stopped), QFileInfo(path).size()};
    if (parcel.hash.empty()) load.error = FileCourier::tr("%1 cannot be read.").arg(path);
    if (parcel.bytes == 0) load.error = FileCourier::tr("%1 is empty.").arg(path);
    for (const std::string& part : {parcel.name, std::string(1, '\0'), parcel.hash})
      all.add(std::as_bytes(std::span(part)));
    load.parcels.push_back(parcel);
  }
  load.folder = all.hex();
  return load;
}

std::string chunkOf(const QString& path, int64_t offset, int64_t most) {
  QFile file(path);
  if (!file.open(QIODevice::ReadOnly) || !file.seek(offset)) return {};
  return base64(file.read(most).toStdString());
}

// Returns what went wrong, as a sentence.
QString append(const QString& path, int64_t offset, const std::string& bytes) {
  QFile file(path);
  if (!file.open(QIODevice::ReadWrite)) return notWritten(path, file.errorString());
  const bool written = file.resize(offset) && file.seek(offset) &&
                       file.write(bytes.data(), static_cast<qint64>(bytes.size())) == std::ssize(bytes) && file.flush();
  return written ? QString() : notWritten(path, file.errorString());
}

}  // namespace

FileCourier::FileCourier(EngineClient* engine, QObject* parent)
    : QObject(parent), engine_(engine), question_(engine, this) {}

// The engine may be gone already.
FileCourier::~FileCourier() {
  if (stopped_) *stopped_ = true;
}

void FileCourier::begin(const Done& done) {
  drop();
  done_ = done;
  stopped_ = std::make_shared<std::atomic<bool>>(false);
  load_ = {};
  at_ = 0;
  chunk_ = kLeastChunk;
}

void FileCourier::drop() {
  if (stopped_) *stopped_ = true;
  stopped_.reset();
  done_ = nullptr;
  question_.drop();
}

void FileCourier::end(const Reply<QString>& reply) {
  const Done done = done_;
  const bool fetching = at_ < load_.parcels.size() && parcel().hash.empty();
  // What came before a cut is kept, to go on from there.
  if (!reply && !reply.error().engineDied && fetching) QFile::remove(partOf(parcel()));
  drop();
  if (done) done(reply);
}

void FileCourier::stop() {
  if (running())
    end(tl::unexpected(EngineError{protocol::RpcError::RequestCancelled, tr("Stopped on request."), {}, false}));
}

void FileCourier::fail(const QString& message, const QString& hint) {
  end(tl::unexpected(EngineError{protocol::RpcError::EngineError, message, hint, false}));
}

template <class Make, class Take>
void FileCourier::work(Make make, Take take) {
  onWorker(this, std::move(make), [this, take = std::move(take), run = stopped_](auto&& made) {
    if (run == stopped_ && running()) take(std::forward<decltype(made)>(made));
  });
}

template <class Params, class T>
void FileCourier::ask(const protocol::Method<Params, T>& method, const std::type_identity_t<Params>& params,
                      const std::type_identity_t<std::function<void(const T&)>>& take) {
  clock_.start();
  question_.ask(method, params, [this, take](Reply<T>& reply) {
    reply ? take(*reply) : end(tl::unexpected<EngineError>(reply.error()));
  });
}

void FileCourier::report(const QString& stage, int64_t of) {
  const Parcel& now = parcel();
  Q_EMIT progressed(stage.arg(text(now.name), engine_->host()),
                    now.bytes > 0 ? static_cast<double>(of) / static_cast<double>(now.bytes) : -1);
}

// A slow connection has to stay free for the signs of life between the chunks.
void FileCourier::setPace() {
  constexpr qint64 kSoonMs = 400, kLateMs = 1200;
  if (clock_.elapsed() < kSoonMs) chunk_ = std::min(kMostChunk, 2 * chunk_);
  if (clock_.elapsed() > kLateMs) chunk_ = std::max(kLeastChunk, chunk_ / 2);
}

// ---- there

void FileCourier::send(const QString& model, const Done& done) {
  begin(done);
  work([model] { return stampOf(model); },
       [this, model](const std::pair<int64_t, int64_t>& here) {
         question_.ask(
             methods::kListFolder, {model.toStdString()}, [this, model, here](Reply<protocol::FolderList>& reply) {
               if (!reply && (reply.error().engineDied || reply.error().cancelled()))
                 return end(tl::unexpected<EngineError>(reply.error()));
               const protocol::FolderEntry* seen =
                   reply && reply->entries.size() == 1 ? &reply->entries.front() : nullptr;
               const bool same = seen != nullptr && !seen->folder && std::pair(seen->bytes, seen->modified) == here;
               same ? end(model) : pack(model);
             });
       });
}

void FileCourier::pack(const QString& model) {
  Q_EMIT progressed(tr("reading %1").arg(QFileInfo(model).fileName()), -1);
  work([model, stopped = stopped_] { return loadOf(model, *stopped); },
       [this](const Load& load) {
         if (!load.error.isEmpty()) return fail(load.error);
         load_ = load;
         sendNext();
       });
}

void FileCourier::sendNext() { at_ == load_.parcels.size() ? end(there_) : sendChunk({}, 0); }

void FileCourier::sendChunk(const std::string& data, int64_t offset) {
  const Parcel& now = parcel();
  const protocol::SendChunkParams params{load_.folder, now.name, now.hash, now.bytes, offset, data};
  ask(methods::kSendChunk, params, [this](const protocol::SentSoFar& sent) {
    report(tr("sending %1 to %2"), sent.bytes);
    there_ = text(sent.path);
    if (sent.complete) {
      ++at_;
      return sendNext();
    }
    setPace();
    sent.bytes < parcel().bytes ? sendFrom(std::max<int64_t>(0, sent.bytes)) : sendChunk({}, parcel().bytes);
  });
}

void FileCourier::sendFrom(int64_t offset) {
  work([path = parcel().here, offset, most = chunk_] { return chunkOf(path, offset, most); },
       [this, offset](const std::string& data) {
         if (data.empty()) return fail(tr("%1 has changed while it was sent.").arg(parcel().here));
         sendChunk(data, offset);
       });
}

// ---- and back

void FileCourier::place(const QString& name, const Done& done) {
  begin(done);
  const QString folder = QUuid::createUuid().toString(QUuid::Id128);
  ask(methods::kSendChunk, {folder.toStdString(), name.toStdString(), {}, 0, 0, {}},
      [this](const protocol::SentSoFar& sent) { end(text(sent.path)); });
}

void FileCourier::fetch(const QString& from, const QString& to, const Done& done) {
  begin(done);
  there_ = QFileInfo(from).path();
  ask(methods::kListFolder, {there_.toStdString()}, [this, to](const protocol::FolderList& list) { choose(list, to); });
}

// The names are the engine's word: they stay in the folder, belong to the export, and take no other file's place.
void FileCourier::choose(const protocol::FolderList& list, const QString& to) {
  const QFileInfo main(to);
  const auto add = [&](const protocol::FolderEntry& file) {
    load_.parcels.push_back({main.dir().filePath(text(file.name)), file.name, {}, file.bytes});
  };
  for (const protocol::FolderEntry& file : list.entries) {
    const QString name = text(file.name);
    if (file.folder || name == main.fileName() || !isPlainName(name) || !name.startsWith(main.completeBaseName()))
      continue;
    add(file);
    if (QFileInfo::exists(load_.parcels.back().here))
      return fail(tr("%1 exists, and the export needs a data file of that name.").arg(load_.parcels.back().here),
                  tr("Choose another name."));
  }
  for (const protocol::FolderEntry& file : list.entries) {
    if (!file.folder && text(file.name) == main.fileName()) add(file);
  }
  if (load_.parcels.empty() || load_.parcels.back().here != main.dir().filePath(main.fileName()))
    return fail(tr("%1 is not there any more.").arg(main.fileName()), tr("Export it again."));
  fetchNext();
}

QString FileCourier::partOf(const Parcel& parcel) const {
  return QFileInfo(parcel.here)
      .dir()
      .filePath(QStringLiteral(".%1.%2.part").arg(text(parcel.name), QFileInfo(there_).fileName().left(8)));
}

void FileCourier::fetchNext() {
  if (at_ == load_.parcels.size()) return end(load_.parcels.back().here);
  const int64_t have = QFileInfo(partOf(parcel())).size();
  fetchFrom(have <= parcel().bytes ? have : 0);
}

void FileCourier::fetchFrom(int64_t offset) {
  const std::string path = (there_ + u'/').toStdString() + parcel().name;
  ask(methods::kFetchChunk, {path, offset, chunk_, false},
      [this, offset](const protocol::FetchedChunk& chunk) { take(chunk, offset); });
}

void FileCourier::take(const protocol::FetchedChunk& chunk, int64_t offset) {
  const auto bytes = bytesOfBase64(chunk.data);
  const int64_t after = offset + (bytes ? std::ssize(*bytes) : 0);
  if (chunk.bytes != parcel().bytes || !bytes || after > chunk.bytes || (after == offset && offset < chunk.bytes))
    return fail(tr("%1 has changed while it was fetched.").arg(text(parcel().name)), tr("Export it again."));
  report(tr("fetching %1 from %2"), after);
  if (offset == chunk.bytes) return chunk.hash.empty() ? fetchFrom(offset) : finish(chunk.hash);
  setPace();
  work([path = partOf(parcel()), offset, bytes = *bytes] { return append(path, offset, bytes); },
       [this, after](const QString& error) { error.isEmpty() ? fetchFrom(after) : fail(error); });
}

void FileCourier::finish(const std::string& hash) {
  const QString part = partOf(parcel()), here = parcel().here;
  work(
      [part, here, hash, stopped = stopped_] {
        const bool same = fileHashOf(part, *stopped) == hash;
        std::error_code error;
        if (same) std::filesystem::rename(part.toStdString(), here.toStdString(), error);
        return !same   ? tr("What came of %1 is not what was sent: its hash is another.").arg(here)
               : error ? notWritten(here, text(error.message()))
                       : QString();
      },
      [this](const QString& error) {
        if (!error.isEmpty()) return fail(error);
        const std::string path = (there_ + u'/').toStdString() + parcel().name;
        engine_->request(methods::kFetchChunk, {path, 0, 0, true}, this, [](const Reply<protocol::FetchedChunk>&) {});
        ++at_;
        fetchNext();
      });
}

}  // namespace normlens::ui
