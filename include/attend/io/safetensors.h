// The safetensors container: named tensors and text metadata in one file (8 bytes of header length, little-endian; a JSON header; the
// data).
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "attend/base/api.h"

namespace attend::io {

enum class ElementType { boolean, uint8, int8, int16, int32, int64, float16, bfloat16, float32, float64 };

// Bytes of one element.
ATTEND_API std::size_t size_of(ElementType type);
// "F32", "I64", …: the container's own names.
ATTEND_API std::string name_of(ElementType type);

// A tensor that lies in memory of somebody else: row-major, little-endian.
struct TensorView {
  ElementType type = ElementType::float32;
  std::vector<std::int64_t> shape;
  std::span<const std::byte> bytes;  // size_of(type) · Π shape
};

// A file that was read: its tensors point into its own memory, which copies share. In a file of ours each tensor lies at a multiple of its
// element's size; in a file of others it may lie anywhere: copy the bytes, don't cast their address.
class ATTEND_API SafetensorsFile {
 public:
  // Reads and checks everything: header length, JSON, types, shapes, offsets (in range, without holes or overlaps), and, where the file
  // carries them, `attend.format` and the sums: one of the three calls for the others. InvalidData "FILE: …" that says what is wrong:
  // truncated, altered, not a safetensors file, a newer format. SystemError where it can't be read.
  static SafetensorsFile read(const std::filesystem::path& file);

  const std::map<std::string, TensorView>& tensors() const { return tensors_; }
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  // InvalidData "FILE: has no tensor \"NAME\"" / "… no metadata \"KEY\"", with the nearest name.
  const TensorView& tensor(const std::string& name) const;
  const std::string& meta(const std::string& key) const;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
  std::shared_ptr<const std::string> memory_;
  std::map<std::string, TensorView> tensors_;
  std::map<std::string, std::string> metadata_;
};

// Version of every file that attend writes, and the newest that it reads (metadata `attend.format`).
inline constexpr int file_format = 1;

// Writes atomically (see AtomicFile). Adds to the metadata: `attend.format`; `attend.crc32c`, eight hexadecimal digits, over the data part;
// `attend.header_crc32c`, over the header's bytes with these eight digits themselves as zeros, so that an altered header is noticed too.
// The data begin at a multiple of 8 bytes, tensors with the widest elements first. The same input gives the same bytes. InvalidArgument
// where bytes don't fit the shape, or a name or metadata is not UTF-8. SystemError as AtomicFile.
ATTEND_API void write_safetensors(const std::filesystem::path& file, const std::map<std::string, TensorView>& tensors,
                                  std::map<std::string, std::string> metadata);

}  // namespace attend::io
