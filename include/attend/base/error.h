// The exceptions of attend: one type per cause. Every message says what was expected, what came, where, and what to do.
#pragma once

#include <stdexcept>
#include <string>

#include "attend/base/api.h"
#include "attend/base/format.h"

namespace attend {

// The base of all of them. Catch this to catch what attend itself refuses.
class ATTEND_API Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
  ~Error() override;
};

// A tensor, option or setting doesn't fit: shapes, types, values, unknown keys.
class ATTEND_API InvalidArgument : public Error {
 public:
  using Error::Error;
  ~InvalidArgument() override;
};

// The request is valid, but this version, device or path can't do it.
class ATTEND_API NotSupported : public Error {
 public:
  using Error::Error;
  ~NotSupported() override;
};

// A file holds what it must not: bad bytes, a wrong sum, an unknown format, a malformed line. The message begins with FILE or FILE:LINE.
class ATTEND_API InvalidData : public Error {
 public:
  using Error::Error;
  ~InvalidData() override;
};

// The system refused: a file that can't be opened or written, a full disk, a folder in use.
class ATTEND_API SystemError : public Error {
 public:
  using Error::Error;
  ~SystemError() override;
};

}  // namespace attend
