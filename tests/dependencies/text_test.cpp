// ICU, libxml2 and zlib.
#include <gtest/gtest.h>
#include <libxml/HTMLparser.h>
#include <libxml/xpath.h>
#include <unicode/brkiter.h>
#include <unicode/normalizer2.h>
#include <unicode/unistr.h>
#include <zlib.h>

#include <memory>
#include <string>

namespace {

TEST(Dependencies, IcuNormalisesAndSegments) {
  UErrorCode error = U_ZERO_ERROR;
  const icu::Normalizer2* composed = icu::Normalizer2::getNFCInstance(error);
  ASSERT_TRUE(U_SUCCESS(error));
  const icu::UnicodeString text = composed->normalize(icu::UnicodeString::fromUTF8("e\xCC\x81" "a"), error);
  EXPECT_EQ(text, icu::UnicodeString::fromUTF8("éa"));

  const std::unique_ptr<icu::BreakIterator> words(icu::BreakIterator::createWordInstance(icu::Locale::getEnglish(), error));
  ASSERT_TRUE(U_SUCCESS(error));
  const icu::UnicodeString sentence("one two");
  words->setText(sentence);
  EXPECT_EQ(words->next(), 3);
}

TEST(Dependencies, Libxml2ReadsHtml) {
  const std::string page = "<html><body><p>one<p>two</body></html>";
  xmlDoc* document = htmlReadMemory(page.data(), static_cast<int>(page.size()), "page.html", "UTF-8", HTML_PARSE_NOERROR);
  ASSERT_NE(document, nullptr);
  xmlXPathContext* context = xmlXPathNewContext(document);
  xmlXPathObject* paragraphs = xmlXPathEvalExpression(reinterpret_cast<const xmlChar*>("//p"), context);
  ASSERT_NE(paragraphs, nullptr);
  EXPECT_EQ(paragraphs->nodesetval->nodeNr, 2);
  xmlXPathFreeObject(paragraphs);
  xmlXPathFreeContext(context);
  xmlFreeDoc(document);
}

TEST(Dependencies, ZlibCompressesAndExpands) {
  const std::string text(1000, 'a');
  std::string packed(compressBound(text.size()), '\0'), expanded(text.size(), '\0');
  uLongf packed_size = packed.size(), expanded_size = expanded.size();
  ASSERT_EQ(compress(reinterpret_cast<Bytef*>(packed.data()), &packed_size, reinterpret_cast<const Bytef*>(text.data()), text.size()), Z_OK);
  EXPECT_LT(packed_size, 100u);
  ASSERT_EQ(uncompress(reinterpret_cast<Bytef*>(expanded.data()), &expanded_size, reinterpret_cast<const Bytef*>(packed.data()), packed_size), Z_OK);
  EXPECT_EQ(expanded, text);
}

}  // namespace
