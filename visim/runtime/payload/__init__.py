"""What the threads of a launch find in memory and registers when they start."""
