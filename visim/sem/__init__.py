"""What instructions mean: expressions, effects and the execution model, known to no engine."""
