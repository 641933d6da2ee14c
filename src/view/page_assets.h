// The files of viewer/, which are compiled in: cmake/EmbedViewer.cmake writes the source at build time.
#pragma once

#include <span>
#include <string_view>

namespace attend::view {

struct PageAsset {
  std::string_view name, content;  // "style.css", its bytes
};

std::span<const PageAsset> page_assets();

}  // namespace attend::view
