#include "attend/layers/key_value_cache.h"

#include <algorithm>

#include "attend/core/shapes.h"

namespace attend::layers {
namespace {

constexpr auto cache_name = "attend::layers::KeyValueCache";

Tensor room_for(const Tensor& like, std::int64_t places, at::ScalarType storage) {
  return at::empty({like.size(0), like.size(1), places, like.size(3)}, like.options().dtype(storage).requires_grad(false));
}

// The first `length` places in a larger room.
Tensor moved(const Tensor& from, std::int64_t length, std::int64_t places) {
  Tensor to = room_for(from, places, from.scalar_type());
  to.narrow(2, 0, length).copy_(from.narrow(2, 0, length));
  return to;
}

}  // namespace

KeyValueCache::KeyValueCache(KeyValueCacheOptions options) : options_(options) {
  if (options.capacity < 1) throw InvalidArgument(format("{}: expected a positive capacity, got {}", cache_name, options.capacity));
  if (options.storage && !at::isFloatingType(*options.storage))
    throw InvalidArgument(format("{}: expected a floating-point type of storage, got {}", cache_name, at::toString(*options.storage)));
}

void KeyValueCache::append(const Tensor& key, const Tensor& value) {
  check_shape(cache_name, "key", key, {{"B"}, {"Hkv"}, {"L"}, {"Dk"}});
  check_shape(cache_name, "value", value, {{"B", key.size(0)}, {"Hkv", key.size(1)}, {"L", key.size(2)}, {"Dv"}});
  check_floating(cache_name, "key", key);
  check_matches(cache_name, "value", value, "key", key);
  const torch::NoGradGuard no_gradient;
  if (!key_.defined()) {
    const at::ScalarType storage = options_.storage.value_or(key.scalar_type());
    key_ = room_for(key, std::max(options_.capacity, key.size(2)), storage), value_ = room_for(value, std::max(options_.capacity, key.size(2)), storage);
  }
  check_shape(cache_name, "key", key, {{"B", key_.size(0)}, {"Hkv", key_.size(1)}, {"L"}, {"Dk", key_.size(3)}});
  check_shape(cache_name, "value", value, {{"B", key_.size(0)}, {"Hkv", key_.size(1)}, {"L"}, {"Dv", value_.size(3)}});
  if (key.device() != key_.device())
    throw InvalidArgument(format("{}: expected key on {}, got {}", cache_name, key_.device().str(), key.device().str()));
  make_room(length_ + key.size(2));
  key_.narrow(2, length_, key.size(2)).copy_(key);
  value_.narrow(2, length_, key.size(2)).copy_(value);
  length_ += key.size(2);
}

void KeyValueCache::make_room(std::int64_t places) {
  if (places <= key_.size(2)) return;
  const std::int64_t wanted = std::max(places, 2 * key_.size(2));
  key_ = moved(key_, length_, wanted);
  value_ = moved(value_, length_, wanted);
}

void KeyValueCache::truncate(std::int64_t length) {
  if (length < 0 || length > length_) throw InvalidArgument(format("{}: expected a length from 0 to {}, got {}", cache_name, length_, length));
  length_ = length;
}

void KeyValueCache::reorder(const Tensor& rows) {
  check_shape(cache_name, "rows", rows, {{"B"}});
  if (rows.scalar_type() != at::kLong) throw InvalidArgument(format("{}: expected rows of type int64, got {}", cache_name, at::toString(rows.scalar_type())));
  if (!key_.defined()) throw InvalidArgument(format("{}: there is nothing to reorder before the first append()", cache_name));
  if (rows.numel() > 0) {
    const auto least = rows.min().item<std::int64_t>(), most = rows.max().item<std::int64_t>();
    if (least < 0 || most >= key_.size(0))
      throw InvalidArgument(format("{}: expected rows from 0 to {}, got {} to {}", cache_name, key_.size(0) - 1, least, most));
  }
  const torch::NoGradGuard no_gradient;
  const auto chosen = [&](const Tensor& from) {
    Tensor to = at::empty({rows.size(0), from.size(1), from.size(2), from.size(3)}, from.options());
    to.narrow(2, 0, length_).copy_(from.narrow(2, 0, length_).index_select(0, rows));
    return to;
  };
  key_ = chosen(key_), value_ = chosen(value_);
}

Tensor KeyValueCache::key() const { return key_.defined() ? key_.narrow(2, 0, length_) : Tensor(); }
Tensor KeyValueCache::value() const { return value_.defined() ? value_.narrow(2, 0, length_) : Tensor(); }

}  // namespace attend::layers
