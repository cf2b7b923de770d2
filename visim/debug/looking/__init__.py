"""What a stopped launch holds: variables, expressions, work-items and memory, as text and data."""
