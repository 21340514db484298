import numpy as np
import pytest
from PIL import Image

from components.metrics.resize import resize_bicubic


def pil_float_resize(image, size):
    """clean-fid's resize: each channel as a float image, bicubic, then clipped."""
    channels = [
        np.asarray(
            Image.fromarray(image[..., c].astype(np.float32)).resize((size, size), Image.Resampling.BICUBIC)
        )
        for c in range(3)
    ]
    return np.clip(np.stack(channels), 0, 255)


@pytest.mark.parametrize(
    ("shape", "size"), [((64, 64), 24), ((37, 61), 32), ((20, 28), 75), ((300, 200), 32)]
)
def test_resize_equals_pil_on_float_channels(shape, size):
    image = np.random.default_rng(0).integers(0, 256, (*shape, 3), dtype=np.uint8)
    assert np.abs(resize_bicubic(image[None], size)[0].numpy() - pil_float_resize(image, size)).max() < 2e-3


def test_equal_size_is_the_identity_and_other_types_are_refused():
    images = np.random.default_rng(1).integers(0, 256, (2, 16, 16, 3), dtype=np.uint8)
    assert np.array_equal(resize_bicubic(images, 16).permute(0, 2, 3, 1).numpy(), images)
    with pytest.raises(ValueError, match="uint8"):
        resize_bicubic(images.astype(np.float32), 16)
