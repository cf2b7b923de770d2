"""Where texels and blocks of images are in memory, so that detectors see them as bytes.

`shapes` says what an image is like, `table` has the shapes of a launch where code can look them up,
`texels` makes addresses of the coordinates of messages.
"""
