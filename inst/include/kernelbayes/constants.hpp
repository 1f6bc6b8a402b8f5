#pragma once

namespace kernelbayes {

constexpr double kPi = 3.14159265358979323846;
constexpr double kLogTwoPi = 1.8378770664093454836;
constexpr double kHalfLogTwoPi = kLogTwoPi / 2;

}  // namespace kernelbayes
