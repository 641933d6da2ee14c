#include "attend/view/page.h"

#include "attend/base/format.h"
#include "attend/io/crc32c.h"
#include "attend/io/file.h"
#include "view/page_data.h"
#include "view/page_document.h"

namespace attend::view {
namespace {

// A file that says how much was written into it.
class CountedFile {
 public:
  explicit CountedFile(const std::filesystem::path& file) : file_(file) {}
  void write(std::string_view text) {
    file_.write(text);
    size_ += text.size();
  }
  std::uintmax_t commit() {
    file_.commit();
    return size_;
  }

 private:
  io::AtomicFile file_;
  std::uintmax_t size_ = 0;
};

std::uintmax_t write_page(const std::filesystem::path& file, const PageData& data) {
  // whoever reads the file knows it anyway; made of the title, so that the same input gives the same bytes
  const std::string nonce = format("{:08x}", io::crc32c(std::as_bytes(std::span(data.title()))));
  const PageDocument document = page_document(data.title(), nonce, Carrier::exported);
  CountedFile out(file);
  out.write(document.before_data);
  for (const std::string& key : data.keys()) {
    out.write(format("<script type=\"text/plain\" data-key=\"{}\">", html_text(key)));
    out.write(base64(data.answer(key)->bytes));
    out.write("</script>\n");
  }
  out.write(document.after_data);
  return out.commit();
}

}  // namespace

std::uintmax_t write_html(const std::filesystem::path& file, const RecordFile& record, const PageOptions& options) {
  PageOptions titled = options;
  if (titled.title.empty()) titled.title = record.path().filename().string();
  return write_page(file, PageData(examples_of(record), titled, Carrier::exported));
}

std::uintmax_t write_html(const std::filesystem::path& file, const Record& record, const PageOptions& options) {
  // not owned: it outlives the call
  const std::shared_ptr<const Record> shared(std::shared_ptr<const Record>(), &record);
  return write_page(file, PageData(examples_of(shared), options, Carrier::exported));
}

}  // namespace attend::view
