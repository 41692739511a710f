"""Resizes a PNG file by the kernel of resize.cu, under the definitions: `resize.py source.png target.png width height`."""

import argparse
from pathlib import Path

import numpy as np
from PIL import Image

import ptxspec

HERE = Path(__file__).parent
KERNEL = "resize"
PTX = HERE / "resize.ptx"
PICTURE = HERE / "picture.png"
BLOCK = (16, 8)


def resized(pixels: np.ndarray, width: int, height: int, engine: str = "native") -> np.ndarray:
    """What the kernel makes of bytes of shape (…, …, 4): bytes of shape (height, width, 4)."""
    source = ptxspec.Texture(
        pixels, "2d", address="clamp", filter="linear", normalized_coords=True, read="normalized_float"
    )
    target = ptxspec.Surface(np.zeros((height, width, 4), np.uint8), "2d")
    module = ptxspec.load(PTX.read_text(), str(PTX))
    grid = (-(-width // BLOCK[0]), -(-height // BLOCK[1]))
    module.launch(KERNEL, grid, BLOCK, [source, target, np.uint32(width), np.uint32(height)], engine=engine)
    return target.texels


def expected(pixels: np.ndarray, width: int, height: int) -> tuple[np.ndarray, np.ndarray]:
    """The resized picture in double precision, and for each byte by how much the kernel's may differ from it.

    The bound is that of spec/textures/filtering.md: each of the four weights may be off by 2^-8. Before that, the distance to the
    next texel is cut to 8 bits, which spec/textures/coordinates.md leaves open how; and the kernel rounds to whole bytes.
    """
    rows, low_row = _between(height, pixels.shape[0])
    columns, low_column = _between(width, pixels.shape[1])
    rows, columns = rows[:, None, None], columns[None, :, None]

    def texels(down: int, right: int) -> np.ndarray:
        row = np.clip(low_row + down, 0, pixels.shape[0] - 1)
        column = np.clip(low_column + right, 0, pixels.shape[1] - 1)
        return pixels[np.ix_(row, column)].astype(float)

    four = [[texels(down, right) for right in (0, 1)] for down in (0, 1)]
    upper, lower = (left * (1 - columns) + right * columns for left, right in four)
    flat = [texel for pair in four for texel in pair]
    cut = 2 * (np.max(flat, axis=0) - np.min(flat, axis=0)) / 256
    return upper * (1 - rows) + lower * rows, sum(flat) / 256 + cut + 0.51


def _between(count: int, size: int) -> tuple[np.ndarray, np.ndarray]:
    """For each of `count` pixels the weight of the upper of two texels, and the index of the lower one."""
    position = (np.arange(count) + 0.5) * size / count - 0.5
    low = np.floor(position).astype(int)
    return position - low, low


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Resize a PNG file by a CUDA kernel.")
    parser.add_argument("source", type=Path)
    parser.add_argument("target", type=Path)
    parser.add_argument("width", type=int)
    parser.add_argument("height", type=int)
    parser.add_argument("--engine", choices=("native", "exact"), default="native")
    own = parser.parse_args(arguments)
    pixels = np.asarray(Image.open(own.source).convert("RGBA"))
    Image.fromarray(resized(pixels, own.width, own.height, own.engine)).save(own.target)


if __name__ == "__main__":
    main()
