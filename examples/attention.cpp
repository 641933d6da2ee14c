#include <attend/addressing/dot_product.h>
#include <iostream>

int main() {
  using attend::Mask;
  const at::Tensor query = at::randn({2, 8, 5, 64}), key = at::randn({2, 2, 9, 64}), value = at::randn({2, 2, 9, 32});
  const Mask mask = Mask::causal() & Mask::lengths(at::tensor({9, 6}, at::kLong));  // a cache of 4 keys, and padding
  attend::addressing::DotProductOptions options;
  options.read.return_weights = true;
  const auto [context, weights] = attend::addressing::dot_product(query, key, value, mask, options);
  std::cout << context.sizes() << " " << weights.sizes() << "\n";  // [2, 8, 5, 32] [2, 8, 5, 9]
}
