"""The code of a module: its units, their nodes, instructions, values and messages."""
