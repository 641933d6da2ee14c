// The user's web browser.
#pragma once

#include <string>

namespace attend::cli {

// Opens an address in it, where there is a desktop (DISPLAY or WAYLAND_DISPLAY is set) and xdg-open. → whether that was begun.
bool open_browser(const std::string& address);

}  // namespace attend::cli
