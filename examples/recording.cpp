#include <attend/addressing/multi_head.h>
#include <attend/core/recording.h>
#include <attend/view/page.h>
#include <attend/view/picture.h>
#include <attend/view/recorded_example.h>
#include <iostream>

int main() {
  const std::vector<std::string> tokens = {"the", "cat", "that", "sat", "sleeps"};
  attend::addressing::MultiHead attention(32, attend::addressing::MultiHeadOptions{.heads = 4});  // stands for any model
  attend::view::Record record;
  {
    attend::Recording recording(*attention, {.heads = {0, 2}});
    attention->self(at::randn({1, 5, 32}), attend::Mask::causal());
    record.examples.push_back(attend::view::recorded_example(recording.take(), {.id = "1", .source = tokens}));
  }
  const attend::view::Example& example = record.examples.front();
  attend::view::write_record("recording.attn", record);
  attend::view::write_svg("recording.svg", example, example.items.front());
  attend::view::write_html("recording.html", record);
  std::cout << example.items.front().heads << " heads\n";  // 2 heads
}
