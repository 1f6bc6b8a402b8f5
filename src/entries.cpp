// One translation unit, see Makevars. Each file also compiles by itself.
#include "glue_bark_fields_predict.cpp"
#include "glue_bark_predict.cpp"
#include "glue_kernel.cpp"
#include "glue_mixing.cpp"
#include "glue_mixture.cpp"
#include "glue_srvm_new.cpp"

// What follows only opens samplers and passes on what they give.
#include "core/small.hpp"

#include "glue_bark.cpp"
#include "glue_camera.cpp"
#include "glue_kbr.cpp"
#include "glue_kbr_hmm.cpp"
#include "glue_kgs.cpp"
#include "glue_kgs_noisy.cpp"
#include "glue_seal.cpp"
#include "glue_machine.cpp"
#include "glue_random.cpp"
#include "glue_simd.cpp"
#include "glue_srvm.cpp"
#include "glue_srvm_open.cpp"
