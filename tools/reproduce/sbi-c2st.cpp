// The classifier of C2ST as the benchmark trains it: two hidden layers of
// rectified linear units, a logistic output, Adam, an L2 penalty of 1e-4,
// batches of 200. Training ends when the loss of an epoch has not improved on
// the best by 1e-4 for more than 10 epochs. Compiled by sbi-scores.R.

// [[Rcpp::depends(RcppEigen)]]
#include <RcppEigen.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <vector>

namespace {

using Matrix = Eigen::MatrixXf;
using Vector = Eigen::VectorXf;

// A matrix of parameters with Adam's moments. The last column is the bias.
struct Layer {
  Matrix value, gradient, first, second;

  Layer(int inputs, int outputs, float gain, std::mt19937& random)
      : value(outputs, inputs + 1),
        gradient(outputs, inputs + 1),
        first(Matrix::Zero(outputs, inputs + 1)),
        second(Matrix::Zero(outputs, inputs + 1)) {
    const float bound = std::sqrt(gain / static_cast<float>(inputs + outputs));
    std::uniform_real_distribution<float> uniform(-bound, bound);
    for (Eigen::Index i = 0; i < value.size(); ++i) {
      value.data()[i] = uniform(random);
    }
  }

  auto weights() const { return value.leftCols(value.cols() - 1); }

  Matrix forward(const Matrix& x) const {
    return (weights() * x).colwise() + value.col(value.cols() - 1);
  }

  void learn_from(const Matrix& delta, const Matrix& x, float penalty) {
    const float n = static_cast<float>(x.cols());
    gradient.leftCols(x.rows()).noalias() =
        (delta * x.transpose() + penalty * weights()) / n;
    gradient.col(x.rows()) = delta.rowwise().sum() / n;
  }

  void step(double time) {
    first = 0.9f * first + 0.1f * gradient;
    second = 0.999f * second + 0.001f * gradient.cwiseAbs2();
    const float rate = static_cast<float>(
        1e-3 * std::sqrt(1 - std::pow(0.999, time)) /
        (1 - std::pow(0.9, time)));
    value.array() -= rate * first.array() / (second.array().sqrt() + 1e-8f);
  }
};

Matrix rectified(const Matrix& x) { return x.cwiseMax(0.0f); }

}  // namespace

// Share of test rows that are classified correctly, and the number of epochs.
// Columns of x and test are cases.
// [[Rcpp::export]]
Rcpp::NumericVector classify(const Eigen::MatrixXd& x, const Eigen::VectorXd& y,
                             const Eigen::MatrixXd& test,
                             const Eigen::VectorXd& truth, int hidden, int seed,
                             int most = 10000) {
  const float penalty = 1e-4f;
  std::mt19937 random(static_cast<unsigned>(seed));
  const Matrix data = x.cast<float>();
  const Vector label = y.cast<float>();
  const int n = static_cast<int>(data.cols());
  const int batch = std::min(200, n);
  std::vector<Layer> layers{Layer(data.rows(), hidden, 6, random),
                            Layer(hidden, hidden, 6, random),
                            Layer(hidden, 1, 6, random)};
  std::vector<int> order(n);
  std::iota(order.begin(), order.end(), 0);
  double best = INFINITY, time = 0;
  int waited = 0, epoch = 0;
  while (epoch < most && waited <= 10) {
    ++epoch;
    std::shuffle(order.begin(), order.end(), random);
    double loss = 0;
    for (int from = 0; from < n; from += batch) {
      const int m = std::min(batch, n - from);
      Matrix input(data.rows(), m);
      Matrix target(1, m);
      for (int i = 0; i < m; ++i) {
        input.col(i) = data.col(order[from + i]);
        target(0, i) = label(order[from + i]);
      }
      const Matrix one = rectified(layers[0].forward(input));
      const Matrix two = rectified(layers[1].forward(one));
      const Matrix score = layers[2].forward(two);
      const Matrix prob = (1 + (-score.array()).exp()).inverse();
      // log(1 + exp(s)) - y s
      loss += ((-score.array().abs()).exp().log1p() +
               score.array().max(0.0f) - target.array() * score.array())
                  .sum();
      for (const auto& layer : layers) {
        loss += 0.5 * penalty * layer.weights().squaredNorm();
      }
      const Matrix last = prob - target;
      const Matrix middle =
          ((layers[2].weights().transpose() * last).array() *
           (two.array() > 0).cast<float>()).matrix();
      const Matrix early =
          ((layers[1].weights().transpose() * middle).array() *
           (one.array() > 0).cast<float>()).matrix();
      layers[2].learn_from(last, two, penalty);
      layers[1].learn_from(middle, one, penalty);
      layers[0].learn_from(early, input, penalty);
      ++time;
      for (auto& layer : layers) layer.step(time);
    }
    loss /= n;
    waited = loss > best - 1e-4 ? waited + 1 : 0;
    best = std::min(best, loss);
    if (epoch % 20 == 0) Rcpp::checkUserInterrupt();
  }
  const Matrix found = layers[2].forward(rectified(
      layers[1].forward(rectified(layers[0].forward(test.cast<float>())))));
  double right = 0;
  for (Eigen::Index i = 0; i < truth.size(); ++i) {
    right += (found(0, i) > 0) == (truth[i] > 0.5);
  }
  return Rcpp::NumericVector::create(right / truth.size(), epoch);
}
