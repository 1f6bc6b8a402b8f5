// One translation unit, see Makevars. Each file also compiles by itself.
#include "core/small.hpp"

#include "bark/truncated/truncated.cpp"
#include "bark/truncated/truncated_coefficients.cpp"
#include "bark/truncated/truncated_draw.cpp"
#include "bark/truncated/truncated_kernels.cpp"
#include "bark/truncated/truncated_chain.cpp"
#include "bark/truncated/truncated_scales.cpp"
