"""What each tool does with a request; runs in the process that was forked for it."""
