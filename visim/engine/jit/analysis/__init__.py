"""What is known of a unit before its code is written."""
