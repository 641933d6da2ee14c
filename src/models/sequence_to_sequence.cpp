#include "attend/models/sequence_to_sequence.h"

namespace attend::models {

SequenceToSequence::~SequenceToSequence() = default;

DecoderState SequenceToSequence::reorder(const DecoderState& state, const Tensor& rows) {
  DecoderState reordered;
  for (const Tensor& tensor : state.tensors) reordered.tensors.push_back(tensor.index_select(0, rows));
  return reordered;
}

Tensor cross_entropy(const Tensor& logits, const Tensor& target, double label_smoothing) {
  return at::cross_entropy_loss(logits.flatten(0, 1), target.flatten(), /*weight=*/{}, at::Reduction::Mean, padding_token, label_smoothing);
}

}  // namespace attend::models
