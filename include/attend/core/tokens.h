// The tokens that every vocabulary begins with.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace attend {

inline constexpr std::int64_t padding_token = 0, unknown_token = 1, begin_token = 2, end_token = 3;

// Their texts, by number.
inline constexpr std::array<std::string_view, 4> special_tokens = {"<pad>", "<unk>", "<s>", "</s>"};

}  // namespace attend
