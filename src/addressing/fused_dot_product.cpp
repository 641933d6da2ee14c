#include "addressing/fused_dot_product.h"

#include <algorithm>
#include <vector>

#include "addressing/fused_read.h"
#include "addressing/normalize.h"
#include "attend/addressing/scores/dot.h"
#include "core/fused_operation.h"
#include "kernels/dot_product.h"

namespace attend::addressing {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct DotProductInput {
  Tensor query, key, value;
  Tensor keep, bias;  // expanded to [B, Hq, Lq, Lk], rows close; undefined where there is none
  FusedDotProductOptions options;

  std::int64_t batch() const { return query.size(0); }
  std::int64_t heads() const { return query.size(1); }
  std::int64_t key_heads() const { return key.size(1); }
  std::int64_t group() const { return query.size(1) / key.size(1); }
  std::int64_t queries() const { return query.size(2); }
  std::int64_t keys() const { return key.size(2); }
};

std::int64_t query_blocks(std::int64_t queries) {
  return (queries + kernels::dot_product_block_queries - 1) / kernels::dot_product_block_queries;
}

// Panels of each key head's rows: [B, Hkv, panels].
template <class T>
Tensor panels_of(const Tensor& rows) {
  const std::int64_t heads = rows.size(1), count = rows.size(2), width = rows.size(3);
  Tensor panels = at::empty({rows.size(0), heads, kernels::panels_size<T>(count, width)}, rows.options());
  const Rows<const T> from(rows);
  in_parallel(rows.size(0) * heads, [&](std::int64_t task) {
    kernels::pack_panels(count, width, from.at(task / heads, task % heads, 0), from.row, panels.data_ptr<T>() + task * panels.size(2));
  });
  return panels;
}

// Rows that kernels read beyond their end get zeros there.
template <class T>
Tensor padded_rows(const Tensor& rows) {
  const std::int64_t width = rows.size(3), wide = kernels::padded_width<T>(width);
  return wide == width ? rows : at::constant_pad_nd(rows, {0, wide - width});
}

template <class T>
kernels::DotProductSizes sizes_of(const Tensor& key, const Tensor& value) {
  return {key.size(2), key.size(3), value.size(3)};
}

// Mask and bias of the queries from `first` on, for either kernel.
template <class T, class Block>
void add_mask(const DotProductInput& input, std::int64_t b, std::int64_t h, std::int64_t first, Block& block) {
  if (input.keep.defined()) {
    const Rows<const bool> keep(input.keep);
    block.keep = keep.at(b, h, first), block.keep_stride = keep.row;
  }
  if (input.bias.defined()) {
    const Rows<const T> bias(input.bias);
    block.bias = bias.at(b, h, first), block.bias_stride = bias.row;
  }
}

struct DotProductOutput {
  Tensor context;   // [B, Hq, Lq, Dv]
  Tensor log_sums;  // [B, Hq, Lq]
};

template <class T>
DotProductOutput forward(const DotProductInput& input) {
  const std::int64_t heads = input.heads(), Lq = input.queries(), blocks = query_blocks(Lq);
  const Tensor panels = panels_of<T>(input.key), values = padded_rows<T>(input.value);
  const kernels::DotProductSizes sizes = sizes_of<T>(input.key, input.value);
  DotProductOutput output{at::empty({input.batch(), heads, Lq, sizes.value_width}, input.query.options()),
                          at::empty({input.batch(), heads, Lq}, input.query.options())};
  const Rows<const T> query(input.query), value(values);
  const Rows<T> context(output.context);
  in_parallel(input.batch() * heads * blocks, [&](std::int64_t task) {
    const std::int64_t b = task / (heads * blocks), h = task / blocks % heads, first = task % blocks * kernels::dot_product_block_queries;
    const std::int64_t key_head = h / input.group();
    kernels::DotProductBlock<T> block;
    block.queries = std::min(kernels::dot_product_block_queries, Lq - first);
    block.query = query.at(b, h, first), block.query_stride = query.row;
    block.key_panels = panels.data_ptr<T>() + (b * input.key_heads() + key_head) * panels.size(2);
    block.value = value.at(b, key_head, 0), block.value_stride = value.row;
    block.scale = input.options.scale, block.soft_cap = input.options.soft_cap;
    add_mask<T>(input, b, h, first, block);
    block.context = context.at(b, h, first), block.context_stride = context.row;
    block.log_sums = output.log_sums.data_ptr<T>() + (b * heads + h) * Lq + first;
    block.scratch = thread_scratch<T>(kernels::dot_product_scratch_size<T>(sizes));
    kernels::dot_product_forward(sizes, block);
  });
  return output;
}

struct DotProductGradients {
  Tensor query, key, value, bias;
};

// Parts of the keys that go side by side, each with a gradient of the queries of its own. A matter of sizes alone, so that threads change nothing.
std::int64_t parts_of_keys(const DotProductInput& input) {
  constexpr std::int64_t wanted_tasks = 8;
  const std::int64_t tasks = std::max<std::int64_t>(1, input.batch() * input.key_heads());
  const std::int64_t key_blocks = (input.keys() + kernels::dot_product_block_keys - 1) / kernels::dot_product_block_keys;
  return std::clamp<std::int64_t>((wanted_tasks + tasks - 1) / tasks, 1, std::max<std::int64_t>(1, key_blocks));
}

template <class T>
DotProductGradients backward(const DotProductInput& input, const DotProductOutput& output, const Tensor& context_gradient, bool wants_bias) {
  const std::int64_t B = input.batch(), heads = input.heads(), key_heads = input.key_heads(), group = input.group(), Lq = input.queries(), Lk = input.keys();
  const Tensor queries = padded_rows<T>(input.query), keys = padded_rows<T>(input.key);
  const Tensor values = padded_rows<T>(input.value), upstream = padded_rows<T>(with_close_rows(context_gradient));
  const kernels::DotProductSizes sizes = sizes_of<T>(keys, values);
  const Tensor key_panels = panels_of<T>(keys), value_panels = panels_of<T>(values);
  const Tensor products = (context_gradient * output.context).sum(-1).contiguous();               // [B, Hq, Lq]
  const std::int64_t parts = parts_of_keys(input), key_blocks = (Lk + kernels::dot_product_block_keys - 1) / kernels::dot_product_block_keys;
  const auto options = input.query.options();
  Tensor of_query = at::zeros({parts, B, heads, Lq, sizes.key_width}, options);
  Tensor of_key = at::zeros({B, key_heads, Lk, sizes.key_width}, options), of_value = at::zeros({B, key_heads, Lk, sizes.value_width}, options);
  Tensor of_bias = wants_bias ? at::empty({B, heads, Lq, Lk}, options) : Tensor();
  const Rows<const T> query(queries), key(keys), gradient(upstream);
  const Rows<T> bias_gradient = wants_bias ? Rows<T>(of_bias) : Rows<T>();
  const auto run = [&](std::int64_t b, std::int64_t key_head, std::int64_t part, std::int64_t key_block, std::int64_t h, std::int64_t first) {
    kernels::DotProductGradients<T> block;
    block.queries = std::min(kernels::dot_product_block_queries, Lq - first);
    block.query = query.at(b, h, first), block.query_stride = query.row;
    block.first_key = key_block * kernels::dot_product_block_keys;
    block.keys = std::min(kernels::dot_product_block_keys, Lk - block.first_key);
    const std::int64_t head = b * key_heads + key_head, row = (b * heads + h) * Lq + first;
    block.key_panels = key_panels.data_ptr<T>() + head * key_panels.size(2), block.value_panels = value_panels.data_ptr<T>() + head * value_panels.size(2);
    block.key = key.at(b, key_head, 0), block.key_stride = key.row;
    block.scale = input.options.scale, block.soft_cap = input.options.soft_cap;
    add_mask<T>(input, b, h, first, block);
    block.context_gradient = gradient.at(b, h, first), block.context_gradient_stride = gradient.row;
    block.log_sums = output.log_sums.data_ptr<T>() + row, block.context_products = products.data_ptr<T>() + row;
    block.query_gradient = of_query.data_ptr<T>() + (part * B * heads * Lq + row) * sizes.key_width;
    block.key_gradient = of_key.data_ptr<T>() + head * Lk * sizes.key_width, block.value_gradient = of_value.data_ptr<T>() + head * Lk * sizes.value_width;
    block.bias_gradient = bias_gradient.at(b, h, first), block.bias_gradient_stride = bias_gradient.row;
    block.scratch = thread_scratch<T>(kernels::dot_product_gradients_scratch_size<T>(sizes));
    kernels::dot_product_backward(sizes, block);
  };
  in_parallel(B * key_heads * parts, [&](std::int64_t task) {
    const std::int64_t b = task / (key_heads * parts), key_head = task / parts % key_heads, part = task % parts;
    for (std::int64_t key_block = part * key_blocks / parts; key_block < (part + 1) * key_blocks / parts; ++key_block)
      for (std::int64_t h = key_head * group; h < (key_head + 1) * group; ++h)
        for (std::int64_t first = 0; first < Lq; first += kernels::dot_product_block_queries) run(b, key_head, part, key_block, h, first);
  });
  const Tensor all_of_query = parts == 1 ? of_query[0] : of_query.sum(0);
  return {all_of_query.slice(3, 0, input.query.size(3)), of_key.slice(3, 0, input.key.size(3)), of_value.slice(3, 0, input.value.size(3)), of_bias};
}

// From libtorch's operations: what a second derivative is computed with.
Tensor composed(const DotProductInput& input) {
  Tensor scores = dot_score(input.query, input.key, input.options.scale);                         // [B, Hq, Lq, Lk]
  if (input.options.soft_cap > 0) scores = (scores / input.options.soft_cap).tanh() * input.options.soft_cap;
  if (input.bias.defined()) scores = scores + input.bias;
  const std::optional<Tensor> keep = input.keep.defined() ? std::optional<Tensor>(input.keep) : std::nullopt;
  return at::matmul(normalize(scores, keep, {}).weights, repeat_heads(input.value, input.heads()));  // [B, Hq, Lq, Dv]
}

// Inputs in order: query, key, value, keep, bias. libtorch takes no undefined inputs here: what isn't there is an empty tensor.
class FusedDotProduct : public torch::autograd::Function<FusedDotProduct> {
 public:
  static Tensor forward(AutogradContext* context, const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& keep, const Tensor& bias,
                        double scale, double soft_cap) {
    const DotProductInput input = input_of({query, key, value, keep, bias}, scale, soft_cap);
    const DotProductOutput output = query.scalar_type() == at::kDouble ? addressing::forward<double>(input) : addressing::forward<float>(input);
    context->save_for_backward({query, key, value, keep, bias, output.context, output.log_sums});
    context->saved_data["scale"] = scale;
    context->saved_data["soft_cap"] = soft_cap;
    return output.context;
  }

  static variable_list backward(AutogradContext* context, variable_list output_gradients) {
    const variable_list saved = context->get_saved_variables();
    const DotProductInput input = input_of(saved, context->saved_data["scale"].toDouble(), context->saved_data["soft_cap"].toDouble());
    const bool wants_bias = input.bias.defined() && input.bias.requires_grad();
    DotProductGradients all;
    if (at::GradMode::is_enabled())
      all = composed_gradients(input, output_gradients[0]);
    else if (input.query.scalar_type() == at::kDouble)
      all = addressing::backward<double>(input, {saved[5], saved[6]}, output_gradients[0], wants_bias);
    else
      all = addressing::backward<float>(input, {saved[5], saved[6]}, output_gradients[0], wants_bias);
    return {all.query, all.key, all.value, Tensor(), all.bias, Tensor(), Tensor()};
  }

 private:
  static DotProductInput input_of(const variable_list& saved, double scale, double soft_cap) {
    const auto optional = [](const Tensor& tensor) { return tensor.dim() == 4 ? tensor : Tensor(); };
    return {saved[0], saved[1], saved[2], optional(saved[3]), optional(saved[4]), {scale, soft_cap}};
  }

  // Gradients that can be differentiated again.
  static DotProductGradients composed_gradients(const DotProductInput& input, const Tensor& context_gradient) {
    const variable_list found = differentiable_gradients({composed(input)}, {context_gradient}, {input.query, input.key, input.value, input.bias});
    return {found[0], found[1], found[2], found[3]};
  }
};

}  // namespace

Tensor fused_dot_product(const Tensor& query, const Tensor& key, const Tensor& value, const Mask::Tensors& mask, const FusedDotProductOptions& options) {
  const std::int64_t keys = key.size(2);
  const Tensor none = at::empty({0}, query.options());
  if (query.size(0) * query.size(1) * query.size(2) * keys * value.size(3) == 0)  // nothing to read, or nobody to read it: 0, with gradients of 0
    return at::matmul(dot_score(query, key), repeat_heads(value, query.size(1)));                 // [B, Hq, Lq, Dv]
  return FusedDotProduct::apply(with_close_rows(query), with_close_rows(key), with_close_rows(value), mask.keep ? expanded(*mask.keep, query, keys) : none,
                                mask.bias ? expanded(*mask.bias, query, keys) : none, options.scale, options.soft_cap);
}

}  // namespace attend::addressing
