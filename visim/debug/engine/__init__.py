"""Running one launch an instruction at a time, and going back to any moment of it."""
