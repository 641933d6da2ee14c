#include "attend/io/file.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <new>
#include <system_error>
#include <utility>

#include "attend/base/error.h"

namespace attend::io {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse(const fs::path& file, std::string_view what, int error) {
  throw SystemError(format("{}: {}: {}", file.string(), what, std::generic_category().message(error)));
}

[[noreturn]] void refuse_folder(const fs::path& file) { throw SystemError(format("{}: is a folder, expected a file", file.string())); }

// Repeats a call that a signal interrupted.
template <class Call>
auto retried(Call call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

// A descriptor that is closed at the end of its scope.
class Descriptor {
 public:
  Descriptor(const fs::path& file, int flags, mode_t mode = 0) {
    value_ = retried([&] { return ::open(file.c_str(), flags | O_CLOEXEC, mode); });
  }
  ~Descriptor() {
    if (value_ >= 0) ::close(value_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  operator int() const { return value_; }
  int release() { return std::exchange(value_, -1); }

 private:
  int value_;
};

// 0, or the reason why not all was written.
int write_all(int descriptor, const char* bytes, std::size_t count) {
  while (count > 0) {
    const ssize_t written = retried([&] { return ::write(descriptor, bytes, count); });
    if (written < 0) return errno;
    bytes += written, count -= static_cast<std::size_t>(written);
  }
  return 0;
}

// Some file systems can't sync a folder; that is not a failure of ours.
int sync_folder(const fs::path& folder) {
  const Descriptor descriptor(folder.empty() ? fs::path(".") : folder, O_RDONLY | O_DIRECTORY);
  if (descriptor < 0) return errno;
  if (retried([&] { return ::fsync(descriptor); }) < 0 && errno != EINVAL && errno != ENOTSUP) return errno;
  return 0;
}

constexpr std::string_view partial_mark = ".partial-";

// The process that NAME.partial-PID names; 0 where the name isn't of that form.
pid_t process_of_partial(const std::string& name) {
  const std::size_t mark = name.rfind(partial_mark);
  if (mark == std::string::npos) return 0;
  pid_t process = 0;
  const char* end = name.data() + name.size();
  const auto [parsed, error] = std::from_chars(name.data() + mark + partial_mark.size(), end, process);
  return error == std::errc() && parsed == end && process > 0 ? process : 0;
}

bool runs(pid_t process) { return ::kill(process, 0) == 0 || errno != ESRCH; }

}  // namespace

std::string read_file(const fs::path& file) {
  const Descriptor descriptor(file, O_RDONLY);
  if (descriptor < 0) refuse(file, "cannot be opened", errno);
  struct stat status;
  if (::fstat(descriptor, &status) < 0) refuse(file, "cannot be read", errno);
  if (S_ISDIR(status.st_mode)) refuse_folder(file);
  constexpr std::size_t step = 1 << 16;
  std::string bytes;
  try {
    // One byte more than expected, so that the end is seen without growing; pipes and /proc say 0.
    std::size_t size = 0;
    bytes.resize(S_ISREG(status.st_mode) && status.st_size > 0 ? static_cast<std::size_t>(status.st_size) + 1 : step);
    for (;;) {
      const ssize_t count = retried([&] { return ::read(descriptor, bytes.data() + size, bytes.size() - size); });
      if (count < 0) refuse(file, "cannot be read", errno);
      if (count == 0) break;
      size += static_cast<std::size_t>(count);
      if (size == bytes.size()) bytes.resize(size + std::max(step, size / 2));
    }
    bytes.resize(size);
  } catch (const std::bad_alloc&) {
    refuse(file, "cannot be read", ENOMEM);
  }
  return bytes;
}

AtomicFile::AtomicFile(fs::path file) : file_(std::move(file)) {
  struct stat old;
  const bool exists = ::stat(file_.c_str(), &old) == 0;
  if (exists && S_ISDIR(old.st_mode)) refuse_folder(file_);
  if (exists && !S_ISREG(old.st_mode)) {
    // A device or a pipe (/dev/stdout) must be written to, never replaced by a file.
    descriptor_ = Descriptor(file_, O_WRONLY).release();
    if (descriptor_ < 0) fail("cannot be opened for writing", errno);
    return;
  }
  std::error_code error;
  if (exists && fs::is_symlink(file_, error)) {  // the link stays, its target is replaced
    const fs::path target = fs::canonical(file_, error);
    if (error) fail("cannot be followed to the file that it links to", error.value());
    file_ = target;
  }
  partial_ = file_;
  partial_ += std::string(partial_mark) + std::to_string(::getpid());
  descriptor_ = Descriptor(partial_, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0666).release();
  if (descriptor_ < 0) fail("cannot be opened for writing", errno);
  if (exists) (void)::fchmod(descriptor_, old.st_mode & 0777);  // what was private stays private
}

AtomicFile::~AtomicFile() {
  if (descriptor_ < 0) return;
  ::close(descriptor_);
  if (!partial_.empty()) ::unlink(partial_.c_str());
}

void AtomicFile::write(std::span<const std::byte> bytes) {
  const int error = write_all(descriptor_, reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (error) fail("cannot be written", error);
}

void AtomicFile::commit() {
  if (descriptor_ < 0) throw std::logic_error("attend::io::AtomicFile: commit() after the file was closed");
  const bool direct = partial_.empty();
  if (!direct && retried([&] { return ::fsync(descriptor_); }) < 0) fail("cannot be synced to the disk", errno);
  if (::close(std::exchange(descriptor_, -1)) < 0) fail("cannot be written", errno);
  if (direct) return;
  if (::rename(partial_.c_str(), file_.c_str()) < 0) fail("cannot be put in its place", errno);
  if (const int error = sync_folder(file_.parent_path())) refuse(file_, "its folder cannot be synced to the disk", error);
}

void AtomicFile::fail(const char* what, int error) {
  if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
  if (!partial_.empty()) ::unlink(partial_.c_str());
  refuse(file_, what, error);
}

void write_file(const fs::path& file, std::string_view text) {
  AtomicFile atomic(file);
  atomic.write(text);
  atomic.commit();
}

void append_line(const fs::path& file, std::string_view line) {
  if (line.find('\n') != std::string_view::npos)
    throw InvalidArgument(format("{}: expected one line to append, got a text with a line break", file.string()));
  const Descriptor descriptor(file, O_WRONLY | O_CREAT | O_APPEND, 0666);
  if (descriptor < 0 && errno == EISDIR) refuse_folder(file);
  if (descriptor < 0) refuse(file, "cannot be opened for writing", errno);
  // The lock lets a line that was only half written (full disk) be taken back without harm to the line of another process.
  (void)retried([&] { return ::flock(descriptor, LOCK_EX); });
  struct stat before;
  const bool regular = ::fstat(descriptor, &before) == 0 && S_ISREG(before.st_mode);
  const std::string text = std::string(line) + '\n';
  if (const int error = write_all(descriptor, text.data(), text.size())) {
    if (regular) (void)!::ftruncate(descriptor, before.st_size);
    refuse(file, "cannot be written", error);
  }
}

void make_folders(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (!error && !fs::is_directory(folder)) error = std::make_error_code(std::errc::not_a_directory);
  if (error) throw SystemError(format("{}: the folder cannot be made: {}", folder.string(), error.message()));
}

void remove_stale_partial_files(const fs::path& folder) {
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    const pid_t process = process_of_partial(entry->path().filename().string());
    std::error_code unknown;
    if (process == 0 || !fs::is_regular_file(entry->symlink_status(unknown)) || runs(process)) continue;
    if (::unlink(entry->path().c_str()) < 0 && errno != ENOENT) refuse(entry->path(), "cannot be removed", errno);
  }
  if (error && error != std::errc::no_such_file_or_directory) refuse(folder, "cannot be searched for left-over files", error.value());
}

}  // namespace attend::io
