#include "attend/base/error.h"

namespace attend {

// Out of line, so that each type has one home and can be caught across shared libraries.
Error::~Error() = default;
InvalidArgument::~InvalidArgument() = default;
NotSupported::~NotSupported() = default;
InvalidData::~InvalidData() = default;
SystemError::~SystemError() = default;

}  // namespace attend
