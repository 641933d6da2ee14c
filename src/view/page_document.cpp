#include "view/page_document.h"

#include <algorithm>
#include <stdexcept>

#include "attend/base/format.h"
#include "attend/data/unicode.h"
#include "view/page_assets.h"

namespace attend::view {
namespace {

std::string_view asset(std::string_view name) {
  for (const PageAsset& one : page_assets())
    if (one.name == name) return one.content;
  throw std::logic_error(format("viewer/index.html names {}, which is not in viewer/", name));
}

// Calls put(NAME) in place of each BEGIN…NAME…END of `html`, and copies what lies between.
template <class Put>
std::string replaced(std::string_view html, std::string_view begin, std::string_view end, Put put) {
  std::string result;
  std::size_t at = 0;
  for (std::size_t found; (found = html.find(begin, at)) != std::string_view::npos;) {
    const std::size_t name = found + begin.size(), name_end = html.find(end, name);
    if (name_end == std::string_view::npos) break;
    result += html.substr(at, found - at);
    result += put(html.substr(name, name_end - name));
    at = name_end + end.size();
  }
  result += html.substr(at);
  return result;
}

// A script as it may stand in a document: nothing in it ends its element.
std::string inline_script(std::string_view script) {
  std::string safe;
  for (std::size_t at = 0; at < script.size(); ++at) {
    safe += script[at];
    if (script[at] == '<' && script.substr(at + 1).starts_with("/script")) safe += '\\';
  }
  return safe;
}

}  // namespace

std::string html_text(std::string_view text) {
  std::string html;
  for (const char c : data::replace_controls(text)) {
    switch (c) {
      case '&':
        html += "&amp;";
        break;
      case '<':
        html += "&lt;";
        break;
      case '>':
        html += "&gt;";
        break;
      case '"':
        html += "&quot;";
        break;
      case '\'':
        html += "&#39;";
        break;
      default:
        html += c;
    }
  }
  return html;
}

std::string base64(std::string_view bytes) {
  constexpr const char* digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - at);
    unsigned group = 0;
    for (std::size_t i = 0; i < 3; ++i) group = group << 8 | (i < count ? static_cast<unsigned char>(bytes[at + i]) : 0U);
    for (std::size_t i = 0; i < 4; ++i) text += i <= count ? digits[group >> (18 - 6 * i) & 63] : '=';
  }
  return text;
}

std::string page_policy(std::string_view nonce, Carrier carrier) {
  // a policy in a document can't say who may frame it
  return format(
      "default-src 'none'; script-src 'nonce-{}'; style-src 'nonce-{}'; img-src data: blob:; connect-src {}; base-uri 'none'; form-action "
      "'none'{}",
      nonce, nonce, carrier == Carrier::exported ? "'none'" : "'self'", carrier == Carrier::exported ? "" : "; frame-ancestors 'none'");
}

PageDocument page_document(std::string_view title, std::string_view nonce, Carrier carrier) {
  std::string html = replaced(asset("index.html"), "<link rel=\"stylesheet\" href=\"", "\">",
                              [&](std::string_view name) { return format("<style nonce=\"{}\">\n{}</style>", nonce, asset(name)); });
  html = replaced(html, "<title>", "</title>", [&](std::string_view) { return format("<title>{}</title>", html_text(title)); });
  if (carrier == Carrier::exported) {
    constexpr std::string_view head = "<head>";
    const std::size_t begin = html.find(head);
    if (begin == std::string::npos) throw std::logic_error("viewer/index.html: expected <head>");
    html.insert(begin + head.size(), format("\n<meta http-equiv=\"Content-Security-Policy\" content=\"{}\">", page_policy(nonce, carrier)));
  }
  // the scripts come last: in what they hold nothing is replaced
  html = replaced(html, "<script src=\"", "\"></script>",
                  [&](std::string_view name) { return format("<script nonce=\"{}\">\n{}</script>", nonce, inline_script(asset(name))); });
  const std::size_t end = html.rfind("</body>");
  if (end == std::string::npos) throw std::logic_error("viewer/index.html: expected </body>");
  return {html.substr(0, end), html.substr(end)};
}

}  // namespace attend::view
