"""Where a value comes from: the instructions and loads that made it."""
