#include "layers/weight_gradients.h"

#include <algorithm>
#include <set>

#include "core/fused_operation.h"
#include "kernels/outer_products.h"

namespace attend::layers {
namespace {

constexpr std::int64_t rows_at_once = 512;               // packed together: what a call holds doesn't grow with the sequences
constexpr std::int64_t strips_at_once = 16, panels_at_once = 2;  // that a thread takes

template <class T>
kernels::StepRows<T> step_rows(const Tensor& tensor, std::int64_t first_column) {
  return {tensor.data_ptr<T>() + first_column, tensor.size(0), tensor.size(1), tensor.stride(0), tensor.stride(1)};
}

std::int64_t in_whole(std::int64_t columns, std::int64_t part) { return (columns + part - 1) / part * part; }

// Columns that a thread packs; `place`: of the packed numbers of one row.
struct PackedColumns {
  const Tensor* from;
  std::int64_t first, end, place;
};

// A panel of a share's rows against some strips.
struct OuterTask {
  const WeightShare* share;
  std::int64_t strips_first, strips_end, strips_place;  // columns of the gradients
  std::int64_t panel_first, panel_end, panel_place;     // columns of the share's rows
};

template <class T>
class WeightGradients {
 public:
  WeightGradients(const Tensor& gradients, const std::vector<WeightShare>& shares) : gradients_(gradients), shares_(shares) {
    cut_gradients();
    for (const WeightShare& share : shares) cut_share(share);
  }

  void run() {
    const std::int64_t all = gradients_.size(0) * gradients_.size(1), most = std::min(all, rows_at_once);
    T* const packed = thread_scratch<T>(most * width_);
    for (std::int64_t first = 0; first < all; first += rows_at_once) {
      const std::int64_t count = std::min(rows_at_once, all - first);
      pack(first, count, packed);
      in_parallel(static_cast<std::int64_t>(tasks_.size()), [&](std::int64_t i) { multiply(tasks_[static_cast<std::size_t>(i)], count, first > 0, packed); },
                  2 * count * strips_at_once * kernels::outer_strip * kernels::outer_panel<T>());
    }
    if (all == 0)
      for (const WeightShare& share : shares_) share.out.zero_();
  }

 private:
  // Strips begin anew where a share begins or ends, so that each share is made of whole ones.
  void cut_gradients() {
    std::set<std::int64_t> borders;
    for (const WeightShare& share : shares_) borders.insert({share.first, share.end});
    for (auto border = borders.begin(); border != borders.end() && std::next(border) != borders.end(); ++border) {
      for (std::int64_t first = *border; first < *std::next(border); first += strips_at_once * kernels::outer_strip) {
        const std::int64_t end = std::min(*std::next(border), first + strips_at_once * kernels::outer_strip);
        strips_.push_back({&gradients_, first, end, width_});
        width_ += in_whole(end - first, kernels::outer_strip);
      }
    }
  }

  void cut_share(const WeightShare& share) {
    const std::int64_t panel = kernels::outer_panel<T>(), columns = share.rows.size(2);
    for (std::int64_t first = 0; first < columns; first += panel) {
      const std::int64_t end = std::min(columns, first + panel), place = width_ + first;
      for (const PackedColumns& strips : strips_)
        if (strips.first >= share.first && strips.end <= share.end)
          tasks_.push_back({&share, strips.first, strips.end, strips.place, first, end, place});
    }
    for (std::int64_t first = 0; first < columns; first += panels_at_once * panel)
      panels_.push_back({&share.rows, first, std::min(columns, first + panels_at_once * panel), width_ + first});
    width_ += in_whole(columns, panel);
  }

  void pack(std::int64_t first, std::int64_t count, T* packed) const {
    const auto strips = static_cast<std::int64_t>(strips_.size()), panels = static_cast<std::int64_t>(panels_.size());
    const auto each = [&](std::int64_t i) {
      const PackedColumns& columns = i < strips ? strips_[static_cast<std::size_t>(i)] : panels_[static_cast<std::size_t>(i - strips)];
      const kernels::StepRows<T> from = step_rows<T>(*columns.from, columns.first);
      T* const to = packed + columns.place * count;
      if (i < strips)
        kernels::pack_outer_strips(from, first, count, columns.end - columns.first, to);
      else
        kernels::pack_outer_panels(from, first, count, columns.end - columns.first, to);
    };
    constexpr std::int64_t operations_of_a_copy = 8;
    in_parallel(strips + panels, each, operations_of_a_copy * count * strips_at_once * kernels::outer_strip);
  }

  void multiply(const OuterTask& task, std::int64_t count, bool goes_on, const T* packed) const {
    const Tensor& out = task.share->out;
    kernels::outer_products(kernels::OuterProducts<T>{count, task.strips_end - task.strips_first, task.panel_end - task.panel_first,
                                                      packed + task.strips_place * count, packed + task.panel_place * count, goes_on,
                                                      out.data_ptr<T>() + (task.strips_first - task.share->first) * out.stride(0) + task.panel_first,
                                                      out.stride(0)});
  }

  const Tensor& gradients_;
  const std::vector<WeightShare>& shares_;
  std::vector<PackedColumns> strips_, panels_;
  std::vector<OuterTask> tasks_;
  std::int64_t width_ = 0;  // packed numbers of one row
};

}  // namespace

void fill_weight_gradients(const Tensor& gradients, const std::vector<WeightShare>& shares) {
  gradients.scalar_type() == at::kDouble ? WeightGradients<double>(gradients, shares).run() : WeightGradients<float>(gradients, shares).run();
}

Tensor weight_gradient(const Tensor& gradients, const Tensor& rows) {
  const Tensor out = at::empty({gradients.size(2), rows.size(2)}, gradients.options());
  fill_weight_gradients(gradients, {{0, gradients.size(2), rows, out}});
  return out;
}

}  // namespace attend::layers
