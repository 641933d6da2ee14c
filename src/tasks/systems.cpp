#include "attend/tasks/systems.h"

namespace attend::tasks {

const std::vector<System>& systems() {
  static const std::vector<System> table = {
      {"B3", "luong", "Luong, Pham, Manning 2015, Effective Approaches to Attention-based Neural Machine Translation",
       "recurrent encoder-decoder, attention on the decoder's state after the cell, attentional vector before the output",
       {"B3-cmudict-quickstart", "B3-libreoffice-help-en-fr"},
       "docs/results.md"},
  };
  return table;
}

}  // namespace attend::tasks
