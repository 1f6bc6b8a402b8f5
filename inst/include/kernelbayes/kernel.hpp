// Kernels as immutable values, cheap to copy.
//
//   Kernel k = Kernel::gaussian(bandwidth) + Kernel::constant(1);
//   k.check_dimension(x.cols());       // std::invalid_argument
//   k.block(x, y, out);                // out(i, j) = k(x_i, y_j), rows: points
//
// Entrywise reproducible: k(x, y) has the same bits in a block of any shape,
// k(x, y) = k(y, x) bit by bit, and k(x, x) = 1 for the stationary kernels.
// Distances are summed directly: the tiles are as fast as Eigen's matrix
// product, and the form |x|^2 + |y|^2 - 2 x'y would cancel and lose both
// properties.
#pragma once

#include "kernel_nodes.hpp"

namespace kernelbayes {

class Kernel {
 public:
  using Index = Eigen::Index;

  // exp(-r^2 / (2 b^2))
  static Kernel gaussian(const Eigen::VectorXd& bandwidth) {
    return radial(bandwidth, kernels::GaussianProfile{});
  }

  // exp(-|r| / b), the Euclidean norm
  static Kernel laplace(const Eigen::VectorXd& bandwidth) {
    return radial(bandwidth, kernels::LaplaceProfile{});
  }

  // nu = 1/2, 3/2 or 5/2
  static Kernel matern(const Eigen::VectorXd& bandwidth, double nu) {
    if (nu == 0.5) return laplace(bandwidth);
    if (nu == 1.5) return radial(bandwidth, kernels::Matern32Profile{});
    if (nu == 2.5) return radial(bandwidth, kernels::Matern52Profile{});
    throw std::invalid_argument("nu must be 0.5, 1.5 or 2.5");
  }

  // (1 + r^2 / (2 alpha b^2))^-alpha
  static Kernel rational_quadratic(const Eigen::VectorXd& bandwidth,
                                   double alpha) {
    kernels::check_positive(alpha, "alpha");
    return radial(bandwidth, kernels::RationalQuadraticProfile{alpha});
  }

  // exp(-2 sum_c sin^2(pi (x_c - y_c) / period) / b_c^2)
  static Kernel periodic(const Eigen::VectorXd& bandwidth, double period) {
    return make<kernels::Periodic>(bandwidth, period);
  }

  // (x'y + offset)^degree
  static Kernel polynomial(int degree, double offset) {
    return make<kernels::InnerProduct>(degree, offset);
  }

  // x'y
  static Kernel linear() { return make<kernels::InnerProduct>(1, 0.0); }

  // Tr[A B'] of 3 x 3 matrices flattened to 9 columns: positive definite,
  // unlike Tr[A B]. Of rank 9, so not characteristic.
  static Kernel rotation() { return make<kernels::InnerProduct>(1, 0.0, 9); }

  static Kernel constant(double value) {
    return make<kernels::Constant>(value);
  }

  Kernel operator+(const Kernel& other) const;
  Kernel operator*(const Kernel& other) const;

  // Throws std::invalid_argument unless points may have d columns.
  void check_dimension(Index d) const { node_->check_dimension(d); }

  void block(const ConstMatrixRef& x, const ConstMatrixRef& y,
             MatrixRef out) const {
    check_shapes(x, y, out);
    node_->block(x, y, out);
  }

  // out(i) = k(x_i, x_i), the bits of block()
  void diagonal(const ConstMatrixRef& x,
                Eigen::Ref<Eigen::VectorXd> out) const {
    node_->check_dimension(x.cols());
    if (out.size() != x.rows()) {
      throw std::invalid_argument("the output needs one entry per point");
    }
    node_->diagonal(x, out);
  }

  // The kernel matrix of x with itself: half is computed and mirrored.
  void gram(const ConstMatrixRef& x, MatrixRef out) const {
    check_shapes(x, x, out);
    constexpr Index width = 128;
    const Index n = x.rows();
    for (Index j = 0; j < n; j += width) {
      const Index m = std::min(width, n - j);
      MatrixRef panel = out.block(j, j, n - j, m);
      node_->block(x.bottomRows(n - j), x.middleRows(j, m), panel);
    }
    mirror(out);
  }

 private:
  using NodePointer = std::shared_ptr<const kernels::Node>;
  friend class CombinedKernel;

  explicit Kernel(NodePointer node) : node_(std::move(node)) {}

  template <class NodeType, class... Arguments>
  static Kernel make(Arguments&&... arguments) {
    return Kernel(std::make_shared<const NodeType>(
        std::forward<Arguments>(arguments)...));
  }

  template <class Profile>
  static Kernel radial(const Eigen::VectorXd& bandwidth, Profile profile) {
    return make<kernels::RadialOf<Profile>>(bandwidth, profile);
  }

  void check_shapes(const ConstMatrixRef& x, const ConstMatrixRef& y,
                    const MatrixRef& out) const {
    node_->check_dimension(x.cols());
    if (x.cols() != y.cols() || out.rows() != x.rows() ||
        out.cols() != y.rows()) {
      throw std::invalid_argument("kernel: sizes of x, y and out disagree");
    }
  }

  // Lower triangle to upper, by tiles that stay in the cache.
  static void mirror(MatrixRef& out) {
    constexpr Index width = 32;
    const Index n = out.rows();
    for (Index j = 0; j < n; j += width) {
      const Index m = std::min(width, n - j);
      for (Index c = j; c < j + m; ++c) {
        for (Index r = c + 1; r < j + m; ++r) out(c, r) = out(r, c);
      }
      for (Index i = j + m; i < n; i += width) {
        const Index h = std::min(width, n - i);
        out.block(j, i, m, h) = out.block(i, j, h, m).transpose();
      }
    }
  }

  NodePointer node_;
};

// A sum or product, evaluated by tiles that stay in the cache.
class CombinedKernel final : public kernels::Node {
 public:
  using Index = Eigen::Index;
  enum class Operation { sum, product };

  CombinedKernel(const Kernel& first, const Kernel& second, Operation operation)
      : first_(first.node_), second_(second.node_), operation_(operation) {}

  void check_dimension(Index d) const override {
    first_->check_dimension(d);
    second_->check_dimension(d);
  }

  void block(const ConstMatrixRef& x, const ConstMatrixRef& y,
             MatrixRef& out) const override {
    constexpr Index height = tiles::n_rows, width = 2 * tiles::n_columns;
    double buffer[height * width];
    for (Index j = 0; j < y.rows(); j += width) {
      const Index m = std::min(width, y.rows() - j);
      const auto points = y.middleRows(j, m);
      for (Index i = 0; i < x.rows(); i += height) {
        const Index n = std::min(height, x.rows() - i);
        const auto rows = x.middleRows(i, n);
        MatrixRef target = out.block(i, j, n, m);
        MatrixRef other = Eigen::Map<Eigen::MatrixXd>(buffer, n, m);
        first_->block(rows, points, target);
        second_->block(rows, points, other);
        combine(target, other);
      }
    }
  }

  void diagonal(const ConstMatrixRef& x,
                kernels::VectorRef& out) const override {
    Eigen::VectorXd buffer(x.rows());
    kernels::VectorRef other(buffer);
    first_->diagonal(x, out);
    second_->diagonal(x, other);
    combine(out, other);
  }

 private:
  template <class Target, class Other>
  void combine(Target& target, const Other& other) const {
    if (operation_ == Operation::sum) {
      target.array() += other.array();
    } else {
      target.array() *= other.array();
    }
  }

  std::shared_ptr<const kernels::Node> first_, second_;
  Operation operation_;
};

inline Kernel Kernel::operator+(const Kernel& other) const {
  return make<CombinedKernel>(*this, other, CombinedKernel::Operation::sum);
}

inline Kernel Kernel::operator*(const Kernel& other) const {
  return make<CombinedKernel>(*this, other, CombinedKernel::Operation::product);
}

}  // namespace kernelbayes
