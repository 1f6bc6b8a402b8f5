# The instruction set of the sampler's loops over rows.

simd_sets <- c("avx512", "avx2", "portable")

# The widest set of this processor that `options(kernelbayes.simd = )` allows
choose_simd <- function() {
  widest <- getOption("kernelbayes.simd", simd_sets[[1]])
  simd_cpp(check_choice(widest, simd_sets, "kernelbayes.simd"))
}
