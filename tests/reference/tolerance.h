// How close two results must be: the one place for it. A tolerance follows from the type that the numbers are stored in and from Lk, the
// number of terms in a row's sum.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace attend::reference {

enum class Type { float16, bfloat16, float32, float64 };
const char* name_of(Type type);

// got is near wanted when |got − wanted| ≤ absolute + relative · |wanted|.
struct Tolerance {
  double absolute = 0, relative = 0;
};

// A context or weight: u · (64 + 8·√Lk) both absolute and relative, u the unit roundoff of the type that is computed in (float32 for the
// half types: 2⁻²⁴; float64: 2⁻⁵³). The half types add one rounding of the result, 2⁻¹¹ or 2⁻⁸ of it.
Tolerance tolerance(Type type, std::int64_t Lk);
// A gradient: sums over queries as well, of terms that cancel: 16 times as much.
Tolerance gradient_tolerance(Type type, std::int64_t Lk);
// An analytic float64 gradient against a five-point difference quotient.
Tolerance difference_quotient_tolerance();
// Results whose author computed every step in the type itself: the half types round several times.
Tolerance stepwise_tolerance(Type type, std::int64_t Lk);
// A text with this many digits after the point.
Tolerance printed_tolerance(int digits);

// NaN is near nothing, not even NaN.
bool is_near(double got, double wanted, const Tolerance& tolerance);

enum class NaN { nowhere, where_wanted };
// Empty where all are near; else what differs most, for example "context[7]: got 1, wanted 2 (3 of 12 differ)". With NaN::where_wanted a
// NaN must stand exactly where one is wanted; otherwise any NaN differs. So do results of different lengths.
std::string difference(const std::string& name, const std::vector<double>& got, const std::vector<double>& wanted,
                       const Tolerance& tolerance, NaN allowed = NaN::nowhere);

}  // namespace attend::reference
