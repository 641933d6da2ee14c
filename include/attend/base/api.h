// The export macro. Everything is hidden unless it says ATTEND_API.
#pragma once

#define ATTEND_API __attribute__((visibility("default")))
