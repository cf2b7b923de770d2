"""From files and texts to what programs are made of."""
