#pragma once

namespace kernelbayes {

constexpr double kPi = 3.14159265358979323846;
constexpr double kLogTwoPi = 1.8378770664093454836;
constexpr double kHalfLogTwoPi = 0.91893853320467274178;

}  // namespace kernelbayes
