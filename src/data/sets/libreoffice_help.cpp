#include "attend/data/sets/libreoffice_help.h"

#include <libxml/HTMLparser.h>
#include <libxml/tree.h>

#include <algorithm>
#include <limits>
#include <map>
#include <memory>

#include "attend/base/error.h"
#include "attend/data/sets/debian_package.h"
#include "attend/data/vocabulary.h"
#include "attend/io/file.h"

namespace attend::data {
namespace {

std::string_view name_of_node(const xmlNode* node) { return reinterpret_cast<const char*>(node->name); }

std::string attribute(xmlNode* node, const char* name) {
  const std::unique_ptr<xmlChar, void (*)(void*)> value(xmlGetProp(node, reinterpret_cast<const xmlChar*>(name)), [](void* text) { xmlFree(text); });
  return value == nullptr ? std::string() : reinterpret_cast<const char*>(value.get());
}

bool has_class(xmlNode* node, std::string_view wanted) {
  for (const std::string& name : cut(attribute(node, "class"), Unit::symbols))
    if (name == wanted) return true;
  return false;
}

bool is_block(const xmlNode* node) {
  const std::string_view name = name_of_node(node);
  return name == "p" || (name.size() == 2 && name[0] == 'h' && name[1] >= '1' && name[1] <= '6');
}

bool is_program(xmlNode* node) {
  return std::ranges::any_of(std::initializer_list<const char*>{"code", "codeintable", "smathcode", "bascode", "logocode", "bug"},
                             [&](const char* name) { return has_class(node, name); });
}

// Text that the page shows on some systems or in some modules only; the default's id begins with "default".
bool is_variant(xmlNode* node) {
  return node->parent != nullptr && has_class(node->parent, "switchinline") && !attribute(node, "id").starts_with("default");
}

void append_text(xmlNode* node, std::string& text) {
  for (xmlNode* child = node->children; child != nullptr; child = child->next) {
    if (child->type == XML_TEXT_NODE || child->type == XML_ENTITY_REF_NODE) {
      const std::unique_ptr<xmlChar, void (*)(void*)> content(xmlNodeGetContent(child), [](void* bytes) { xmlFree(bytes); });
      if (content != nullptr) text += reinterpret_cast<const char*>(content.get());
    } else if (child->type == XML_ELEMENT_NODE && !is_variant(child) && name_of_node(child) != "script") {
      const bool breaks = name_of_node(child) == "br";
      if (breaks) text += ' ';
      append_text(child, text);
    }
  }
}

void collect_blocks(xmlNode* node, std::vector<HelpBlock>& blocks) {
  for (xmlNode* child = node->children; child != nullptr; child = child->next) {
    if (child->type != XML_ELEMENT_NODE) continue;
    if (!is_block(child)) {
      collect_blocks(child, blocks);
    } else if (!is_program(child)) {
      HelpBlock block{attribute(child, "id"), ""};
      append_text(child, block.text);
      blocks.push_back(std::move(block));
    }
  }
}

xmlNode* find_display_area(xmlNode* node) {
  for (; node != nullptr; node = node->next) {
    if (node->type != XML_ELEMENT_NODE) continue;
    if (attribute(node, "id") == "DisplayArea") return node;
    if (xmlNode* found = find_display_area(node->children)) return found;
  }
  return nullptr;
}

// "en" → "en-us", "en-US"; "zh-CN" → "zh-cn", "zh-CN"
std::string package_language(const std::string& language) {
  std::string name = language == "en" ? "en-us" : language;
  for (char& c : name) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return name;
}

std::filesystem::path pages_of(const DebianPackage& package, const std::string& language) {
  return package.file("usr/share/libreoffice/help/" + (language == "en" ? "en-US" : language) + "/text");
}

}  // namespace

std::vector<HelpBlock> read_help_page(std::string_view html, const std::string& name) {
  const bool too_long = html.size() > static_cast<std::size_t>(std::numeric_limits<int>::max());
  const std::unique_ptr<xmlDoc, void (*)(xmlDoc*)> page(
      too_long ? nullptr
               : htmlReadMemory(html.data(), static_cast<int>(html.size()), nullptr, "utf-8",
                                HTML_PARSE_RECOVER | HTML_PARSE_NOERROR | HTML_PARSE_NOWARNING | HTML_PARSE_NONET),
      [](xmlDoc* document) { xmlFreeDoc(document); });
  if (page == nullptr) throw InvalidData(format("{}: expected a page in HTML, got {} bytes that can't be parsed; download it again", name, html.size()));
  std::vector<HelpBlock> blocks;
  if (xmlNode* area = find_display_area(xmlDocGetRootElement(page.get()))) collect_blocks(area, blocks);
  return blocks;
}

std::vector<Passage> pair_help_blocks(const std::string& document, const std::vector<HelpBlock>& source, const std::vector<HelpBlock>& target) {
  std::vector<Passage> passages;
  if (std::ranges::equal(source, target, {}, &HelpBlock::id, &HelpBlock::id)) {
    for (std::size_t i = 0; i < source.size(); ++i) passages.push_back({document, source[i].text, target[i].text});
    return passages;
  }
  std::map<std::string, std::vector<const HelpBlock*>> by_id;
  for (const HelpBlock& block : target) by_id[block.id].push_back(&block);
  std::map<std::string, std::size_t> used;
  for (const HelpBlock& block : source) {
    if (block.id.empty()) continue;
    const std::size_t number = used[block.id]++;
    const auto others = by_id.find(block.id);
    if (others != by_id.end() && number < others->second.size()) passages.push_back({document, block.text, others->second[number]->text});
  }
  return passages;
}

std::vector<Passage> read_libreoffice_help(const std::filesystem::path& source, const std::filesystem::path& target, const MakeCallbacks& callbacks) {
  std::vector<std::filesystem::path> pages;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(source))
    if (entry.path().extension() == ".html" && std::filesystem::exists(target / entry.path().lexically_relative(source)))
      pages.push_back(entry.path().lexically_relative(source));
  std::ranges::sort(pages);  // folders are read in any order
  if (pages.empty()) throw SystemError(format("{}: expected pages of help (.html) that {} has too, found none", source.string(), target.string()));
  std::vector<Passage> passages;
  for (std::size_t i = 0; i < pages.size(); ++i) {
    if (i % 50 == 0) callbacks.tell(static_cast<double>(i) / static_cast<double>(pages.size()), "reading pages");
    const auto blocks = [&](const std::filesystem::path& folder) {
      return read_help_page(io::read_file(folder / pages[i]), (folder / pages[i]).string());
    };
    for (Passage& passage : pair_help_blocks(pages[i].generic_string(), blocks(source), blocks(target))) passages.push_back(std::move(passage));
  }
  return passages;
}

io::Value make_libreoffice_help(const std::filesystem::path& folder, const Languages& languages, const MakeCallbacks& callbacks) {
  const std::string source_name = "libreoffice-help-" + package_language(languages.source);
  const std::string target_name = "libreoffice-help-" + package_language(languages.target);
  callbacks.tell(0, "downloading " + source_name);
  const DebianPackage source(source_name);
  callbacks.tell(0, "downloading " + target_name);
  const DebianPackage target(target_name);
  const std::vector<Passage> passages = read_libreoffice_help(pages_of(source, languages.source), pages_of(target, languages.target), callbacks);
  const ParallelCorpus corpus = make_parallel_corpus(passages, languages, callbacks);
  io::Value about = io::Value::table();
  about.set("name", format("libreoffice-help-{}-{}", languages.source, languages.target));
  about.set("source", format("Debian packages {} {} and {} {}", source_name, source.version(), target_name, target.version()));
  about.set("licence", "MPL-2.0 (LibreOffice contributors; parts Apache-2.0)");
  return write_parallel_corpus(corpus, std::move(about), folder);
}

}  // namespace attend::data
