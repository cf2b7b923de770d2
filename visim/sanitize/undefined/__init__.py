"""What languages leave undefined, though hardware has an answer: notes, unless asked otherwise.

Integer division by zero, shifts by more than there are bits, floats that no integer is, vectors
that are not aligned, operands that are %null, and output for which there was no room.
"""
