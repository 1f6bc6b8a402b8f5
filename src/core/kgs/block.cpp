#include "block.hpp"

#include <kernelbayes/normal_cdf.hpp>
#include <kernelbayes/truncated_normal.hpp>

#include "../decompositions.hpp"
#include "samplers.hpp"

namespace kernelbayes::kgs {

using Eigen::VectorXd;

Block::Block(const Eigen::MatrixXd& features, const VectorXd& signs,
             double nugget)
    : signs_(signs), u_(signs), nugget_(nugget) {
  Eigen::MatrixXd square =
      Eigen::MatrixXd::Zero(features.cols(), features.cols());
  square.selfadjointView<Eigen::Lower>().rankUpdate(features.transpose());
  linalg::Spectrum spectrum = linalg::spectrum(square);
  axes_ = std::move(spectrum.vectors);
  spectrum_ = spectrum.values.cwiseMax(0);
  turned_ = features * axes_;
}

void Block::step(double below, double above, Rng& rng) {
  draw_features(rng);
  draw_latent(below, above, rng);
}

// Along the principal axes the posterior of v has independent components:
// (G13).
VectorXd Block::mean() const {
  return (turned_.transpose() * u_)
      .cwiseQuotient((spectrum_.array() + nugget_).matrix());
}

void Block::draw_features(Rng& rng) {
  const VectorXd sd = (nugget_ / (spectrum_.array() + nugget_)).sqrt().matrix();
  f_ = turned_ * (mean() + sd.cwiseProduct(normal_vector(sd.size(), rng)));
}

// (G12).
void Block::draw_latent(double below, double above, Rng& rng) {
  const double sd = std::sqrt(nugget_);
  for (Eigen::Index i = 0; i < u_.size(); ++i) {
    const bool positive = signs_[i] > 0;
    const double log_up =
        std::log(positive ? 1 - above : above) + log_normal_cdf(f_[i] / sd);
    const double log_down =
        std::log(positive ? below : 1 - below) + log_normal_cdf(-f_[i] / sd);
    const bool up = rng.uniform() < 1 / (1 + std::exp(log_down - log_up));
    u_[i] = up ? positive_normal(f_[i], sd, rng)
               : -positive_normal(-f_[i], sd, rng);
  }
}

// (G14).
VectorXd Block::direction() const {
  const VectorXd v = mean();
  const double squared = (u_.squaredNorm() - u_.dot(turned_ * v)) / nugget_;
  return axes_ * v / std::sqrt(squared);
}

}  // namespace kernelbayes::kgs
