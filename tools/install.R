# Installs the package and what it needs into the first library that can be
# written to: Rscript tools/install.R
# The compiler takes two minutes on two cores, in silence: RcppEigen's headers
# have thousands of harmless warnings. Without debugging information, which
# takes 100 MB on some systems.

script <- sub("^--file=", "", grep("^--file=", commandArgs(), value = TRUE)[1])
script <- normalizePath(gsub("~+~", " ", script, fixed = TRUE))
source(file.path(dirname(script), "deps.R"))
root <- dirname(dirname(script))
install_needs(root)
say("Installed in ", install_checkout(root), ".")
