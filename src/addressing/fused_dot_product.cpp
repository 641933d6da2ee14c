#include "addressing/fused_dot_product.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "addressing/dot_product_input.h"
#include "addressing/normalize.h"
#include "attend/addressing/scores/dot.h"
#include "core/fused_operation.h"
#include "kernels/dot_product.h"
#include "kernels/finite.h"

namespace attend::addressing {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// Rows that kernels read beyond their end get zeros there.
template <class T>
Tensor padded_rows(const Tensor& rows) {
  const std::int64_t width = rows.size(3), wide = kernels::padded_width<T>(width);
  return wide == width ? rows : at::constant_pad_nd(rows, {0, wide - width});
}

kernels::DotProductSizes sizes_of(const Tensor& key, const Tensor& value) { return {key.size(2), key.size(3), value.size(3)}; }

struct DotProductOutput {
  Tensor context;   // [B, Hq, Lq, Dv]
  Tensor log_sums;  // [B, Hq, Lq]
};

// The forward pass of blocks of queries.
template <class T>
class Forward {
 public:
  Forward(const DotProductInput& input, Inputs inputs)
      : input_(input), checks_(inputs == Inputs::unknown), columns_(takes_columns(input)), values_(columns_ ? input.value : padded_rows<T>(input.value)),
        sizes_(sizes_of(input.key, input.value)), form_(form_of(input.options)), seen_(input), query_(input.query), key_(input.key), value_(values_),
        key_lengths_(static_cast<std::size_t>(input.batch() * input.key_heads())) {
    output_ = {at::empty({input.batch(), input.heads(), input.queries(), sizes_.value_width}, input.query.options()),
               at::empty({input.batch(), input.heads(), input.queries()}, input.query.options())};
    context_ = Rows<T>(output_.context);
  }

  // Empty where the input isn't finite.
  std::optional<DotProductOutput> run() {
    const std::int64_t all = input_.batch() * input_.key_heads();
    if (all >= 4 * at::get_num_threads())
      run_whole_heads(all);
    else
      run_blocks(all);
    return finite_ ? std::optional(output_) : std::nullopt;
  }

 private:
  // Values in columns are worth their copy from so many queries on (measured: at 256 they aren't).
  static bool takes_columns(const DotProductInput& input) { return input.group() * input.queries() >= 512; }

  std::int64_t panels() const { return kernels::panels_size<T>(sizes_.keys, sizes_.key_width); }
  std::int64_t packed_size() const { return panels() + (columns_ ? kernels::columns_size<T>(sizes_.keys, sizes_.value_width) : 0); }
  std::int64_t scratch() const { return kernels::dot_product_scratch_size<T>(sizes_); }
  std::int64_t blocks_of_head() const { return input_.group() * input_.query_blocks(); }
  std::int64_t operations_of_block() const {
    return 2 * std::min(block_queries, input_.queries()) * sizes_.keys * (sizes_.key_width + sizes_.value_width);
  }

  // Each thread packs the keys of a head for itself.
  void run_whole_heads(std::int64_t all) {
    in_parallel(all, [&](std::int64_t head) {
      if (!memory_is_finite(head)) return;
      T* const packed = thread_scratch<T>(packed_size() + scratch());
      pack_head(head, packed);
      for (std::int64_t block = 0; block < blocks_of_head(); ++block) run_block(head, block, packed, packed + packed_size());
    }, blocks_of_head() * operations_of_block());
  }

  // All threads read the keys of some heads, packed by all: so many at a time that the copies stay small.
  void run_blocks(std::int64_t all) {
    constexpr std::int64_t most_bytes = 8 << 20;
    const std::int64_t at_once = std::clamp<std::int64_t>(most_bytes / (1 + packed_size() * static_cast<std::int64_t>(sizeof(T))), 1, std::max<std::int64_t>(1, all));
    Tensor packed = at::empty({at_once, packed_size()}, input_.key.options());
    for (std::int64_t first = 0; first < all && finite_; first += at_once) {
      const std::int64_t count = std::min(at_once, all - first);
      in_parallel(count, [&](std::int64_t i) {
        if (memory_is_finite(first + i)) pack_head(first + i, packed.data_ptr<T>() + i * packed_size());
      }, 4 * packed_size());
      if (!finite_) return;
      in_parallel(count * blocks_of_head(), [&](std::int64_t task) {
        const std::int64_t head = task / blocks_of_head();
        run_block(first + head, task % blocks_of_head(), packed.data_ptr<T>() + head * packed_size(), thread_scratch<T>(scratch()));
      }, operations_of_block());
    }
  }

  // Keys, and values where they go in columns, of one key head of the batch.
  void pack_head(std::int64_t head, T* packed) {
    const std::int64_t b = head / input_.key_heads(), key_head = head % input_.key_heads();
    kernels::pack_panels(sizes_.keys, sizes_.key_width, key_.at(b, key_head, 0), key_.row, static_cast<T>(kernels::key_panel_scale(form_)), packed);
    if (columns_) kernels::pack_columns(sizes_.keys, sizes_.value_width, value_.at(b, key_head, 0), value_.row, packed + panels());
  }

  bool rows_are_finite(std::int64_t rows, std::int64_t width, const T* from, std::int64_t stride) {
    bool finite = true;
    if (stride == width)
      finite = kernels::all_finite(rows * width, from);
    else
      for (std::int64_t i = 0; i < rows && finite; ++i) finite = kernels::all_finite(width, from + i * stride);
    if (!finite) finite_ = false;
    return finite;
  }

  // Whether lengths bound scores: nothing else goes into them.
  bool lengths_bound_scores() const { return form_.soft_cap == 0 && !input_.bias.defined() && !input_.factors.defined(); }

  // The square of the longest row, infinite where that is of no use; empty where one isn't finite, unless that is known.
  std::optional<T> largest_square(std::int64_t rows, std::int64_t width, const T* from, std::int64_t stride) {
    const T square = lengths_bound_scores() ? kernels::largest_square(rows, width, from, stride) : std::numeric_limits<T>::infinity();
    if (std::isfinite(square) || !checks_ || rows_are_finite(rows, width, from, stride)) return square;
    return std::nullopt;
  }

  // Keys and values of a head, just before they are read. What they are worth for the bound of scores is kept.
  bool memory_is_finite(std::int64_t head) {
    constexpr T shortest = T(1e-30), longest = T(1e36);  // squares of values that 2^±40 and the sum of all keys leave far from the ends of float
    const std::int64_t b = head / input_.key_heads(), key_head = head % input_.key_heads();
    const std::optional<T> key = largest_square(sizes_.keys, sizes_.key_width, key_.at(b, key_head, 0), key_.row);
    const std::optional<T> value = key ? largest_square(sizes_.keys, sizes_.value_width, value_.at(b, key_head, 0), value_.row) : std::nullopt;
    if (!value) return false;
    const bool bounded = *value >= shortest && *value <= longest;
    key_lengths_[static_cast<std::size_t>(head)] = bounded ? std::sqrt(*key) : std::numeric_limits<T>::infinity();
    return true;
  }

  // Block `number` of the queries that read a key head: of a causal read the long ones first.
  void run_block(std::int64_t head, std::int64_t number, const T* packed, T* scratch) {
    const std::int64_t b = head / input_.key_heads(), key_head = head % input_.key_heads(), blocks = input_.query_blocks();
    const std::int64_t h = key_head * input_.group() + number / blocks, first = (blocks - 1 - number % blocks) * block_queries;
    kernels::DotProductBlock<T> block;
    block.queries = std::min(block_queries, input_.queries() - first);
    block.query = query_.at(b, h, first), block.query_stride = query_.row;
    const std::optional<T> query = largest_square(block.queries, sizes_.key_width, block.query, block.query_stride);
    if (!query) return;
    block.score_bound = std::sqrt(*query) * key_lengths_[static_cast<std::size_t>(head)] * static_cast<T>(std::abs(kernels::key_panel_scale(form_)));
    block.key_panels = packed, block.value_columns = columns_ ? packed + panels() : nullptr;
    block.value = value_.at(b, key_head, 0), block.value_stride = value_.row;
    block.form = form_;
    block.rows = seen_.rows(b, h, first, block.queries);
    block.context = context_.at(b, h, first), block.context_stride = context_.row;
    block.log_sums = output_.log_sums.data_ptr<T>() + (b * input_.heads() + h) * input_.queries() + first;
    block.scratch = scratch;
    kernels::dot_product_forward(sizes_, block);
  }

  const DotProductInput& input_;
  bool checks_;
  std::atomic<bool> finite_ = true;
  bool columns_;
  Tensor values_;
  kernels::DotProductSizes sizes_;
  kernels::DotProductForm form_;
  SeenRows<T> seen_;
  Rows<const T> query_, key_, value_;
  std::vector<T> key_lengths_;  // of each key head of the batch: the longest key, or infinite where scores have no bound that is of use
  DotProductOutput output_;
  Rows<T> context_;
};

struct DotProductGradients {
  Tensor query, key, value, bias, factors;
};

// Parts of the keys that go side by side, each with a gradient of the queries of its own. A matter of sizes alone, so that threads change nothing.
std::int64_t parts_of_keys(const DotProductInput& input) {
  constexpr std::int64_t wanted_tasks = 8;
  const std::int64_t tasks = std::max<std::int64_t>(1, input.batch() * input.key_heads());
  return std::clamp<std::int64_t>((wanted_tasks + tasks - 1) / tasks, 1, std::max<std::int64_t>(1, input.key_blocks()));
}

// The backward pass. Rows of what it reads and writes are as wide as the kernels take them.
template <class T>
class Backward {
 public:
  Backward(const DotProductInput& input, const DotProductOutput& output, const Tensor& context_gradient)
      : input_(input), log_sums_(output.log_sums), query_(padded_rows<T>(input.query)), key_(padded_rows<T>(input.key)), value_(padded_rows<T>(input.value)),
        upstream_(padded_rows<T>(with_close_rows(context_gradient))), sizes_(sizes_of(key_, value_)), parts_(parts_of_keys(input)), form_(form_of(input.options)),
        seen_(input), query_rows_(query_), key_rows_(key_), value_rows_(value_), upstream_rows_(upstream_) {
    const auto options = query_.options();
    const std::int64_t B = input.batch(), heads = input.heads(), Lq = input.queries(), Lk = input.keys();
    products_ = at::empty({B, heads, Lq}, options);
    of_query_ = at::zeros({parts_, B, heads, Lq, sizes_.key_width}, options);
    of_key_ = at::zeros({B, input.key_heads(), Lk, sizes_.key_width}, options);
    of_value_ = at::zeros({B, input.key_heads(), Lk, sizes_.value_width}, options);
    const auto of_pairs = [&](const Tensor& pairs) { return pairs.defined() && pairs.requires_grad() ? at::empty({B, heads, Lq, Lk}, options) : Tensor(); };
    of_bias_ = of_pairs(input.bias), of_factors_ = of_pairs(input.factors);
    if (of_bias_.defined()) bias_rows_ = Rows<T>(of_bias_);
    if (of_factors_.defined()) factor_rows_ = Rows<T>(of_factors_);
    take_products(output.context);
  }

  DotProductGradients run() {
    const std::int64_t key_heads = input_.batch() * input_.key_heads();
    in_parallel(key_heads * parts_, [&](std::int64_t task) { run_part(task / parts_, task % parts_); },
                10 * input_.group() * input_.queries() * sizes_.keys * sizes_.key_width / parts_);
    Tensor of_query = of_query_[0];
    for (std::int64_t part = 1; part < parts_; ++part) of_query.add_(of_query_[part]);
    return {of_query.slice(3, 0, input_.query.size(3)), of_key_.slice(3, 0, input_.key.size(3)), of_value_.slice(3, 0, input_.value.size(3)), of_bias_, of_factors_};
  }

 private:
  // context_gradient · context of each query.
  void take_products(const Tensor& context) {
    const Rows<const T> contexts(context);
    const std::int64_t heads = input_.heads(), Lq = input_.queries(), width = context.size(3);
    in_parallel(input_.batch() * heads, [&](std::int64_t i) {
      kernels::row_products(Lq, width, upstream_rows_.at(i / heads, i % heads, 0), upstream_rows_.row, contexts.at(i / heads, i % heads, 0), contexts.row,
                            products_.data_ptr<T>() + i * Lq);
    }, 4 * Lq * width);
  }

  // Packs the keys of a part, and goes through their blocks and all queries that read them.
  void run_part(std::int64_t head, std::int64_t part) {
    const std::int64_t b = head / input_.key_heads(), key_head = head % input_.key_heads(), blocks = input_.key_blocks();
    const std::int64_t first_block = part * blocks / parts_, end_block = (part + 1) * blocks / parts_, first_key = first_block * block_keys;
    const std::int64_t keys = std::min(sizes_.keys, end_block * block_keys) - first_key;
    const std::int64_t key_size = kernels::panels_size<T>(keys, sizes_.key_width), value_size = kernels::panels_size<T>(keys, sizes_.value_width);
    const std::int64_t packed_size = key_size + value_size + kernels::columns_size<T>(keys, sizes_.key_width);
    T* const packed = thread_scratch<T>(packed_size + kernels::dot_product_gradients_scratch_size<T>(sizes_));
    kernels::pack_panels(keys, sizes_.key_width, key_rows_.at(b, key_head, first_key), key_rows_.row, static_cast<T>(kernels::key_panel_scale(form_)), packed);
    kernels::pack_panels(keys, sizes_.value_width, value_rows_.at(b, key_head, first_key), value_rows_.row, T(1), packed + key_size);
    kernels::pack_columns(keys, sizes_.key_width, key_rows_.at(b, key_head, first_key), key_rows_.row, packed + key_size + value_size);
    kernels::DotProductGradients<T> block;
    block.key_panels = packed, block.value_panels = packed + key_size, block.first_packed = first_key;
    block.key_columns = packed + key_size + value_size;
    block.key_gradient = of_key_.data_ptr<T>() + head * sizes_.keys * sizes_.key_width;
    block.value_gradient = of_value_.data_ptr<T>() + head * sizes_.keys * sizes_.value_width;
    block.form = form_;
    block.scratch = packed + packed_size;
    for (std::int64_t key_block = first_block; key_block < end_block; ++key_block) {
      block.first_key = key_block * block_keys, block.keys = std::min(block_keys, sizes_.keys - block.first_key);
      for (std::int64_t h = key_head * input_.group(); h < (key_head + 1) * input_.group(); ++h)
        for (std::int64_t first = 0; first < input_.queries(); first += block_queries) run_block(block, part, b, h, first);
    }
  }

  void run_block(kernels::DotProductGradients<T>& block, std::int64_t part, std::int64_t b, std::int64_t h, std::int64_t first) {
    const std::int64_t row = (b * input_.heads() + h) * input_.queries() + first;
    block.queries = std::min(block_queries, input_.queries() - first);
    block.query = query_rows_.at(b, h, first), block.query_stride = query_rows_.row;
    block.rows = seen_.rows(b, h, first, block.queries);
    block.context_gradient = upstream_rows_.at(b, h, first), block.context_gradient_stride = upstream_rows_.row;
    block.log_sums = log_sums_.data_ptr<T>() + row, block.context_products = products_.data_ptr<T>() + row;
    block.query_gradient = of_query_.data_ptr<T>() + (part * input_.batch() * input_.heads() * input_.queries() + row) * sizes_.key_width;
    block.bias_gradient = bias_rows_.at(b, h, first), block.factor_gradient = factor_rows_.at(b, h, first), block.pair_stride = sizes_.keys;
    kernels::dot_product_backward(sizes_, block);
  }

  const DotProductInput& input_;
  Tensor log_sums_;                         // [B, Hq, Lq]
  Tensor query_, key_, value_, upstream_;   // padded
  kernels::DotProductSizes sizes_;
  std::int64_t parts_;
  kernels::DotProductForm form_;
  SeenRows<T> seen_;
  Rows<const T> query_rows_, key_rows_, value_rows_, upstream_rows_;
  Tensor products_;                         // [B, Hq, Lq]
  Tensor of_query_, of_key_, of_value_;     // [parts, B, Hq, Lq, Dk], [B, Hkv, Lk, Dk], [B, Hkv, Lk, Dv]
  Tensor of_bias_, of_factors_;             // [B, Hq, Lq, Lk]
  Rows<T> bias_rows_, factor_rows_;
};

std::optional<DotProductOutput> forward_of(const DotProductInput& input, Inputs inputs) {
  return input.query.scalar_type() == at::kDouble ? Forward<double>(input, inputs).run() : Forward<float>(input, inputs).run();
}

// From libtorch's operations: what a second derivative is computed with.
Tensor composed(const DotProductInput& input) {
  Tensor scores = dot_score(input.query, input.key, input.options.scale);                         // [B, Hq, Lq, Lk]
  if (input.options.soft_cap > 0) scores = (scores / input.options.soft_cap).tanh() * input.options.soft_cap;
  if (input.bias.defined()) scores = scores + input.bias;
  std::optional<Tensor> keep;
  if (input.keep.defined()) keep = input.keep;
  if (input.spans.defined()) {
    const Tensor in_span = keep_of_spans(input.spans, input.keys());
    keep = keep ? *keep & in_span : in_span;
  }
  Tensor weights = normalize(scores, keep, {}).weights;                                           // [B, Hq, Lq, Lk]
  if (input.factors.defined()) weights = weights * input.factors;
  if (input.options.renormalised) weights = renormalised(weights);
  const DropoutDraw& draw = input.options.dropout;
  if (draw.probability > 0) weights = weights * dropout_multipliers(weights.sizes(), draw.probability, draw.seed, weights, draw.origin);
  return at::matmul(weights, repeat_heads(input.value, input.heads()));                           // [B, Hq, Lq, Dv]
}

// libtorch takes no undefined inputs here: what isn't there is an empty tensor.
class FusedDotProduct : public torch::autograd::Function<FusedDotProduct> {
 public:
  // `output` is of these inputs.
  static Tensor forward(AutogradContext* context, const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& keep, const Tensor& bias,
                        const Tensor& factors, const Tensor& spans, const FusedDotProductOptions& options, const DotProductOutput& output) {
    context->save_for_backward({query, key, value, keep, bias, factors, spans, output.context, output.log_sums});
    const DropoutDraw& draw = options.dropout;
    context->saved_data["reals"] = std::vector<double>{options.scale, options.soft_cap, draw.probability};
    context->saved_data["whole"] = std::vector<std::int64_t>{options.renormalised, draw.seed, draw.origin.batch, draw.origin.head, draw.origin.query, draw.origin.key};
    return output.context;
  }

  static variable_list backward(AutogradContext* context, variable_list output_gradients) {
    const variable_list saved = context->get_saved_variables();
    const std::vector<double> reals = context->saved_data["reals"].toDoubleVector();
    const std::vector<std::int64_t> whole = context->saved_data["whole"].toIntVector();
    const DotProductInput input =
        input_of(saved, {reals[0], reals[1], whole[0] != 0, {reals[2], whole[1], {whole[2], whole[3], whole[4], whole[5]}}});
    DotProductGradients all;
    if (at::GradMode::is_enabled())
      all = composed_gradients(input, output_gradients[0]);
    else if (input.query.scalar_type() == at::kDouble)
      all = Backward<double>(input, {saved[7], saved[8]}, output_gradients[0]).run();
    else
      all = Backward<float>(input, {saved[7], saved[8]}, output_gradients[0]).run();
    return {all.query, all.key, all.value, Tensor(), all.bias, all.factors, Tensor(), Tensor(), Tensor()};
  }

 private:
  static DotProductInput input_of(const variable_list& saved, const FusedDotProductOptions& options) {
    const auto optional = [](const Tensor& tensor) { return tensor.dim() > 1 ? tensor : Tensor(); };
    return {saved[0], saved[1], saved[2], optional(saved[3]), optional(saved[4]), optional(saved[5]), optional(saved[6]), options};
  }

  static DotProductGradients composed_gradients(const DotProductInput& input, const Tensor& context_gradient) {
    const variable_list found =
        differentiable_gradients({composed(input)}, {context_gradient}, {input.query, input.key, input.value, input.bias, input.factors});
    return {found[0], found[1], found[2], found[3], found[4]};
  }
};

}  // namespace

std::optional<Tensor> fused_dot_product(const Tensor& query, const Tensor& key, const Tensor& value, const Mask::Spans& seen, const std::optional<Tensor>& factors,
                                        const FusedDotProductOptions& options, Inputs inputs) {
  if (query.size(0) * query.size(1) * query.size(2) * key.size(2) * value.size(3) == 0)  // nothing to read, or nobody to read it: 0, with gradients of 0
    return at::matmul(dot_score(query, key), repeat_heads(value, query.size(1)));                 // [B, Hq, Lq, Dv]
  const DotProductInput input = dot_product_input(query, key, value, seen, factors, options);
  std::optional<DotProductOutput> output;
  {
    const torch::NoGradGuard no_gradient;
    output = forward_of(input, inputs);
  }
  if (!output || !input.wants_gradients()) return output ? std::optional(output->context) : std::nullopt;
  const Tensor none = at::empty({0}, query.options());
  const auto or_none = [&](const Tensor& tensor) { return tensor.defined() ? tensor : none; };
  return FusedDotProduct::apply(input.query, input.key, input.value, or_none(input.keep), or_none(input.bias), or_none(input.factors), or_none(input.spans), options, *output);
}

}  // namespace attend::addressing
