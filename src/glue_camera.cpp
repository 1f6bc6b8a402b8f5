// Light that a turning camera sees in a picture of a room.
#include <cmath>
#include <cstddef>

#include "glue/lists.hpp"
#include "kernelbayes_types.h"

namespace {

// Directions with |x| + |y| + |z| = 1 are eight triangles, one per choice of
// signs; a picture of side x side cells of |x| and |y| has one of them.
std::size_t room_cell(const double* d, int side) {
  double ax = std::fabs(d[0]), ay = std::fabs(d[1]);
  double scale = side / (ax + ay + std::fabs(d[2]));
  int x = static_cast<int>(ax * scale), y = static_cast<int>(ay * scale);
  if (x == side) --x;
  if (y == side) --y;
  std::size_t triangle = (d[0] < 0) + 2 * (d[1] < 0) + 4 * (d[2] < 0);
  return x + side * (y + side * triangle);
}

}  // namespace

// Sums of three colours over 4 x 4 rays for each of 20 x 20 pixels, 1200 rows,
// one column per rotation. `room` is 3 x side x side x 8.
// [[Rcpp::export(rng = false)]]
Rcpp::IntegerMatrix camera_rays_cpp(const Rcpp::NumericMatrix& rotations,
                                    const Rcpp::IntegerVector& room, int side) {
  const int n = rotations.nrow();
  require(side > 0 && rotations.ncol() == 9 &&
              double(room.size()) == 24.0 * side * side,
          "rotations or room have another size");
  for (const double entry : rotations) {
    // No direction is 0 or missing then.
    require(std::fabs(entry) < 1.5, "rotations must be rotations");
  }
  Rcpp::IntegerMatrix out(1200, n);
  int* pixel = out.begin();
  for (int t = 0; t < n; ++t) {
    double r[9];
    for (int j = 0; j < 9; ++j) r[j] = rotations(t, j);
    for (int p = 0; p < 400; ++p, pixel += 3) {
      for (int ray = 0; ray < 16; ++ray) {
        double left = 1.65 * (40 - 4 * (p % 20) - ray % 4 - 0.5) / 80;
        double up = 1.65 * (40 - 4 * (p / 20) - ray / 4 - 0.5) / 80;
        double d[3];
        for (int c = 0; c < 3; ++c) {
          d[c] = r[c] + left * r[3 + c] + up * r[6 + c];
        }
        const int* light = room.begin() + 3 * room_cell(d, side);
        for (int c = 0; c < 3; ++c) pixel[c] += light[c];
      }
    }
  }
  return out;
}
