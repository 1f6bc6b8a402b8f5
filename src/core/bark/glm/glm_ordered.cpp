// Ordered classes whose latent responses are not in the state.
#include <cmath>
#include <limits>
#include <stdexcept>

#include "core/bark/coefficients/normal_interval.hpp"
#include "glm_likelihood.hpp"

namespace kernelbayes::bark {

namespace {

using Array = Eigen::ArrayXd;

/// The class is the interval between cut points that f + N(0, 1) is in, (B48).
/// The parameters are the gaps between finite cut points, whose logarithms are
/// N(0, 1): (B123).
class Ordered : public GlmLikelihood {
 public:
  explicit Ordered(const Data& data)
      : GlmLikelihood(data), class_(data.y.cast<int>()) {
    if ((class_ < 1).any() || (class_ > data.classes).any()) {
      throw std::invalid_argument("a class is not among the classes");
    }
    set_parameters(std::vector<double>(data.classes - 2, 1));
  }
  std::vector<double> parameters() const override { return gaps_; }
  void set_parameters(const std::vector<double>& values) override {
    gaps_ = values;
    ends_ = {-kInfinity, 0};
    for (const double gap : gaps_) ends_.push_back(ends_.back() + gap);
    ends_.push_back(kInfinity);
  }
  std::vector<double> cuts() const override {
    return {ends_.begin() + 1, ends_.end() - 1};
  }
  void draw_parameters(Rng& rng) override {
    std::vector<double> gaps(gaps_.size());
    for (double& gap : gaps) gap = std::exp(rng.normal());
    set_parameters(gaps);
  }
  void move_parameters(const Eigen::VectorXd& f, Rng& rng) override {
    step_in_log(f, rng);
  }
  Eigen::VectorXd simulate(const Eigen::VectorXd& f, Rng& rng) const override {
    Eigen::VectorXd out(f.size());
    for (Eigen::Index i = 0; i < f.size(); ++i) {
      const double latent = f[i] + rng.normal();
      int k = 1;
      while (latent > ends_[k]) ++k;
      out[i] = k;
    }
    return out;
  }

 protected:
  Rows rows(const Eigen::VectorXd& f) const override {
    Rows out{Array(f.size()), Array(f.size()), Array(f.size())};
    for (Eigen::Index i = 0; i < f.size(); ++i) {
      const int k = class_[i];
      const NormalInterval row(ends_[k - 1] - f[i], ends_[k] - f[i]);
      out.value[i] = row.log_p;
      out.first[i] = row.first;
      out.minus_second[i] = row.minus_second;
    }
    return out;
  }

 private:
  static constexpr double kInfinity = std::numeric_limits<double>::infinity();

  double log_prior() const override {
    double sum = 0;
    for (const double gap : gaps_) sum += std::log(gap) * std::log(gap);
    return -0.5 * sum;
  }

  Eigen::ArrayXi class_;
  std::vector<double> gaps_, ends_;
};

}  // namespace

LikelihoodPtr ordered_probit(const Data& data, const Prior&) {
  return std::make_unique<Ordered>(data);
}

}  // namespace kernelbayes::bark
