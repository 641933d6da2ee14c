#include "attend/tasks/systems.h"

namespace attend::tasks {

const std::vector<System>& systems() {
  static const std::vector<System> table = {
      {"B1", "rnn",
       "Sutskever, Vinyals, Le 2014, Sequence to Sequence Learning with Neural Networks; Cho et al. 2014, Learning Phrase Representations using RNN "
       "Encoder-Decoder",
       "recurrent encoder-decoder without attention: one vector is all that the decoder knows of the source",
       {"B1-cmudict", "B1-g2p", "B1-libreoffice-help-en-fr"},
       "docs/results.md"},
      {"B2", "rnnsearch", "Bahdanau, Cho, Bengio 2014, Neural Machine Translation by Jointly Learning to Align and Translate",
       "bidirectional GRU encoder, additive score on the decoder's state before the step, context inside the cell, maxout before the output",
       {"B2-cmudict", "B2-g2p", "B2-libreoffice-help-en-fr"},
       "docs/results.md"},
      {"B3", "luong", "Luong, Pham, Manning 2015, Effective Approaches to Attention-based Neural Machine Translation",
       "recurrent encoder-decoder, attention on the decoder's state after the cell, attentional vector before the output",
       {"B3-cmudict-quickstart", "B3-cmudict-attention", "B3-g2p", "B3-g2p-local-m", "B3-g2p-local-p", "B3-g2p-input-feeding"},
       "docs/results.md"},
      {"B4", "attention-layer", "the additive score of Bahdanau, Cho, Bengio 2014 (appendix A.1.2) as a layer over whole output sequences",
       "GRU encoder-decoder; all outputs of both go through one attention layer, whose context stands beside the decoder's output before the softmax",
       {"B4-cmudict"},
       "docs/results.md"},
  };
  return table;
}

}  // namespace attend::tasks
