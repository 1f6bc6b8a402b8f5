# A state to come back to: the tests play with R's generator.
keep_random_state <- function(env = parent.frame()) {
  state <- random_state()
  withr::defer(restore_random_state(state), envir = env)
}
