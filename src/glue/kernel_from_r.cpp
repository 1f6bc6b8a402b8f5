#include "glue/kernel_from_r.hpp"

#include <stdexcept>
#include <string>

#include "glue/lists.hpp"

namespace {

Eigen::VectorXd bandwidth_from_r(const Rcpp::List& kernel) {
  const SEXP bandwidth = kernel["bandwidth"];
  if (TYPEOF(bandwidth) != REALSXP) {
    throw std::invalid_argument("the bandwidth is not resolved");
  }
  return Rcpp::as<Eigen::VectorXd>(bandwidth);
}

}  // namespace

kernelbayes::Kernel kernel_from_r(const Rcpp::List& kernel) {
  using kernelbayes::Kernel;
  const std::string type = Rcpp::as<std::string>(kernel["type"]);
  const auto number = [&](const char* name) {
    return Rcpp::as<double>(kernel[name]);
  };
  if (type == "gaussian") return Kernel::gaussian(bandwidth_from_r(kernel));
  if (type == "laplace") return Kernel::laplace(bandwidth_from_r(kernel));
  if (type == "matern") {
    return Kernel::matern(bandwidth_from_r(kernel), number("nu"));
  }
  if (type == "rational_quadratic") {
    return Kernel::rational_quadratic(bandwidth_from_r(kernel),
                                      number("alpha"));
  }
  if (type == "periodic") {
    return Kernel::periodic(bandwidth_from_r(kernel), number("period"));
  }
  if (type == "polynomial") {
    return Kernel::polynomial(count_from_r(kernel, "degree", 1),
                              number("offset"));
  }
  if (type == "linear") return Kernel::linear();
  if (type == "rotation") return Kernel::rotation();
  if (type == "constant") return Kernel::constant(number("value"));
  if (type == "sum" || type == "product") {
    const Rcpp::List parts = kernel["parts"];
    require(parts.size() == 2, "a sum or product of kernels has two parts");
    const Kernel first = kernel_from_r(parts[0]);
    const Kernel second = kernel_from_r(parts[1]);
    return type == "sum" ? first + second : first * second;
  }
  throw std::invalid_argument("no built-in kernel of type '" + type + "'");
}

std::optional<kernelbayes::RadialKernel> learned_kernel(
    const Rcpp::List& kernel) {
  const bool learned = kernel.containsElementNamed("bandwidth") &&
                       TYPEOF(kernel["bandwidth"]) == STRSXP &&
                       Rcpp::as<std::string>(kernel["bandwidth"]) == "ard";
  if (!learned) return std::nullopt;
  using Shape = kernelbayes::RadialKernel::Shape;
  kernelbayes::RadialKernel out;
  if (kernel.containsElementNamed("alpha")) out.alpha = kernel["alpha"];
  if (Rcpp::as<std::string>(kernel["type"]) == "matern") {
    const double nu = kernel["nu"];
    out.shape = nu == 0.5   ? Shape::kLaplace
                : nu == 1.5 ? Shape::kMatern32
                            : Shape::kMatern52;
  } else {
    static const std::map<std::string, Shape> kShapes{
        {"gaussian", Shape::kGaussian},
        {"laplace", Shape::kLaplace},
        {"rational_quadratic", Shape::kRationalQuadratic}};
    out.shape = named(kShapes, kernel["type"]);
  }
  return out;
}
