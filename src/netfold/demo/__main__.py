"""`python -m netfold.demo`."""

from netfold.demo import main

main()
