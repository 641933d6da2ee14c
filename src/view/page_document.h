// The page itself: index.html of viewer/ with its styles and scripts in it.
#pragma once

#include <string>
#include <string_view>

#include "view/page_data.h"

namespace attend::view {

struct PageDocument {
  std::string before_data, after_data;  // an exported page has its data between them
};

// The document under this title. Each style and script carries `nonce`, and the policy allows no other. An exported page has the policy in
// its head; a served one comes with it as a header.
PageDocument page_document(std::string_view title, std::string_view nonce, Carrier carrier);

// The content security policy of a page: it loads, sends and shows nothing but what it holds, and, served, what its own server gives.
std::string page_policy(std::string_view nonce, Carrier carrier);

// A text as it stands in HTML, in elements and in quoted attributes.
std::string html_text(std::string_view text);

std::string base64(std::string_view bytes);

}  // namespace attend::view
