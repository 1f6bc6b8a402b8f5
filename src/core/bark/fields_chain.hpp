#pragma once

#include "chain.hpp"
#include "fields_level.hpp"

namespace kernelbayes {
namespace bark {

/// Kept draws of a multinomial probit model: of each class those of its field
/// (without noise and likelihood), and the log likelihood of all classes given
/// the coefficients.
struct FieldsDraws {
  std::vector<Draws> fields;
  std::vector<double> log_likelihood;
};

/// The chain of a multinomial probit model, as Chain is of other families.
class FieldsChain {
 public:
  FieldsChain(const Prior& prior, const ChainSettings& settings, Data data,
              Classes classes);
  // Fields refer to this object's data.
  FieldsChain(const FieldsChain&) = delete;
  FieldsChain& operator=(const FieldsChain&) = delete;

  int total() const { return settings_.warmup + settings_.iterations; }
  int time() const { return time_; }
  void advance(int n);

  struct Saved {
    int time = 0;
    std::vector<FieldsLevel::Saved> levels;
    Counts counts;
    std::array<std::uint64_t, 4> rng{};
    FieldsDraws draws;
    double seconds = 0;
  };
  Saved save() const;
  void restore(Saved saved);

 private:
  void sweep();
  void swap_temperatures();
  void record();

  Prior prior_;
  ChainSettings settings_;
  Data data_;
  Classes classes_;
  Rng rng_;
  std::vector<FieldsLevel> levels_;  // by temperature, the coldest first
  Counts counts_;                    // after the warmup; moves at amplitude 1
  FieldsDraws draws_;
  int time_ = 0;
  double seconds_ = 0;
};

}  // namespace bark
}  // namespace kernelbayes
