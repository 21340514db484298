"""Where the planted defects lie: thresholds that part every `beyond` level from every other row.

The margins are those of the default set (seed 0); tests/pipelines/demo/test_thresholds.py measures them.
"""

# Shortest side: rejected rows have 127 px at most, kept ones 128 or more.
MIN_SIDE_PX = 128
# Blurred rows reach 65, all others begin at 200.
LAPLACIAN_VARIANCE = 100.0
# Tinted rows begin at 0.99, all others end at 0.70.
COLOR_SHIFT = 0.85
# Small subjects cover 0.115 at most, all others 0.235 or more.
FOREGROUND_RATIO = 0.17
# Mismatched captions reach 0.03 with the shipped CLIP model, all others begin at 0.17.
CLIP_SIMILARITY = 0.1
# Words of a caption, both included: rejected rows have 7 or fewer, 36 or more.
CAPTION_WORDS_MIN, CAPTION_WORDS_MAX = 8, 35
# Bits of the phash: copies differ in 2 at most, different photos in 6 or more.
NEAR_DISTANCE = 4
