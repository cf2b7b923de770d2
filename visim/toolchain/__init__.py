"""Intel's compilers and drivers in folders of their own, beside whatever the system has."""
