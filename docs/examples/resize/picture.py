"""Makes picture.png: hills under a sun, with round corners that are transparent."""

from pathlib import Path

import numpy as np
from PIL import Image

WIDTH, HEIGHT = 48, 32


def picture() -> np.ndarray:
    """Red, green, blue and opacity, bytes of shape (32, 48, 4)."""
    y, x = np.mgrid[:HEIGHT, :WIDTH].astype(float)
    fall = y[..., None] / HEIGHT
    colours = np.array([70, 130, 210]) * (1 - fall) + np.array([250, 220, 190]) * fall
    colours[(x - 35) ** 2 + (y - 9) ** 2 < 25] = (250, 200, 60)
    for height, colour in ((20 - 4 * np.sin(x / 6), (60, 120, 80)), (26 - 3 * np.cos(x / 5), (30, 70, 50))):
        colours[y >= height] = colour
    beyond = [np.maximum(5 - np.minimum(at, most - 1 - at), 0) for at, most in ((x, WIDTH), (y, HEIGHT))]
    opacity = np.where(np.hypot(*beyond) > 5, 0, 255)
    return np.dstack([colours, opacity]).round().astype(np.uint8)


if __name__ == "__main__":
    Image.fromarray(picture()).save(Path(__file__).with_name("picture.png"), optimize=True)
