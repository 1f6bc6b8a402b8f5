#pragma once

#include "fields_level.hpp"
#include "ladder.hpp"

namespace kernelbayes {
namespace bark {

/// The evidence of a multinomial probit model, as Ladder gives that of other
/// families: against that of the rung at 0, where each of C classes has the
/// probability 1 / C at each row.
class FieldsLadder {
 public:
  FieldsLadder(const Prior& prior, const LadderSettings& settings, Data data,
               Classes classes);
  // Fields refer to this object's data.
  FieldsLadder(const FieldsLadder&) = delete;
  FieldsLadder& operator=(const FieldsLadder&) = delete;

  int total() const { return settings_.warmup + settings_.iterations; }
  int time() const { return time_; }
  void advance(int n);

  struct Saved {
    int time = 0;
    std::vector<FieldsLevel::Saved> levels;
    std::array<std::uint64_t, 4> rng{};
    std::vector<double> swapped;    // how often, after the warmup
    std::vector<double> log_ratio;  // of each step, iteration by iteration
    double seconds = 0;
  };
  Saved save() const;
  void restore(Saved saved);

 private:
  void exchange_neighbours();
  void record();

  Prior prior_;
  LadderSettings settings_;
  Data data_;
  Classes classes_;
  Rng rng_;
  std::vector<FieldsLevel> levels_;  // of all rungs but the last, 1
  std::vector<double> swapped_, log_ratio_;
  int time_ = 0;
  double seconds_ = 0;
};

}  // namespace bark
}  // namespace kernelbayes
