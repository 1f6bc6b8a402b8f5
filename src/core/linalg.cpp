#include "linalg.hpp"

KERNELBAYES_EIGEN_PRODUCTS(template)
