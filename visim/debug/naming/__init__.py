"""Variables of the source in a stopped thread: which there are, where they are, what they hold."""
