"""Many launches: a matrix of cells, each in a process of its own, and what came of all of them."""
