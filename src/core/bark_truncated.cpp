// One translation unit, see Makevars. Each file also compiles by itself.
#include "core/small.hpp"

#include "bark/truncated.cpp"
#include "bark/truncated_coefficient.cpp"
#include "bark/truncated_draw.cpp"
#include "bark/truncated_ellipse.cpp"
#include "bark/truncated_kernels.cpp"
#include "bark/truncated_level.cpp"
#include "bark/truncated_scales.cpp"
#include "bark/truncated_sweep.cpp"
