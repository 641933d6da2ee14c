#include "tests/reference/tolerance.h"

#include <cmath>
#include <sstream>

namespace attend::reference {
namespace {

// Half a unit in the last place of 1.
double unit_roundoff(Type type) {
  switch (type) {
    case Type::float16:
      return std::ldexp(1.0, -11);
    case Type::bfloat16:
      return std::ldexp(1.0, -8);
    case Type::float32:
      return std::ldexp(1.0, -24);
    case Type::float64:
      return std::ldexp(1.0, -53);
  }
  return 0;
}

bool is_half(Type type) { return type == Type::float16 || type == Type::bfloat16; }

double growth(std::int64_t Lk) { return 64 + 8 * std::sqrt(static_cast<double>(Lk)); }

}  // namespace

const char* name_of(Type type) {
  switch (type) {
    case Type::float16:
      return "float16";
    case Type::bfloat16:
      return "bfloat16";
    case Type::float32:
      return "float32";
    case Type::float64:
      return "float64";
  }
  return "";
}

Tolerance tolerance(Type type, std::int64_t Lk) {
  const double computed = unit_roundoff(is_half(type) ? Type::float32 : type) * growth(Lk);
  if (!is_half(type)) return {computed, computed};
  const double smallest = type == Type::float16 ? std::ldexp(1.0, -25) : 0;  // half of the least subnormal
  return {computed + smallest, computed + unit_roundoff(type)};
}

Tolerance gradient_tolerance(Type type, std::int64_t Lk) {
  const Tolerance once = tolerance(type, Lk);
  return {16 * once.absolute, 16 * once.relative};
}

Tolerance difference_quotient_tolerance() { return {1e-8, 1e-7}; }

Tolerance stepwise_tolerance(Type type, std::int64_t Lk) {
  if (!is_half(type)) return tolerance(type, Lk);
  const double all_steps = unit_roundoff(type) * (4 + std::sqrt(static_cast<double>(Lk)));
  return {all_steps, all_steps};
}

Tolerance printed_tolerance(int digits) { return {std::pow(10.0, -digits), 0}; }

bool is_near(double got, double wanted, const Tolerance& tolerance) {
  if (got == wanted) return true;  // infinities too, whose difference is NaN
  return std::isfinite(wanted) && std::abs(got - wanted) <= tolerance.absolute + tolerance.relative * std::abs(wanted);
}

std::string difference(const std::string& name, const std::vector<double>& got, const std::vector<double>& wanted,
                       const Tolerance& tolerance, NaN allowed) {
  std::ostringstream text;
  text.precision(10);
  if (got.size() != wanted.size()) {
    text << name << ": got " << got.size() << " numbers, wanted " << wanted.size();
    return text.str();
  }
  std::size_t count = 0, worst = 0;
  double largest = -1;
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (allowed == NaN::where_wanted && std::isnan(got[i]) && std::isnan(wanted[i])) continue;
    if (is_near(got[i], wanted[i], tolerance)) continue;
    const double size = std::isnan(got[i] - wanted[i]) ? HUGE_VAL : std::abs(got[i] - wanted[i]);
    if (size > largest) worst = i, largest = size;
    ++count;
  }
  if (count == 0) return {};
  text << name << "[" << worst << "]: got " << got[worst] << ", wanted " << wanted[worst] << " (" << count << " of " << got.size()
       << " differ)";
  return text.str();
}

}  // namespace attend::reference
