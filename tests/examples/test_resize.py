"""The image kernel: from a PNG file to a PNG file, the same bits by both engines, and a reference within the filter's bound."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ptxspec

Image = pytest.importorskip("PIL.Image")
FOLDER = Path(__file__).resolve().parents[2] / "docs" / "examples" / "resize"


@pytest.fixture(scope="module")
def example() -> dict[str, Any]:
    return runpy.run_path(str(FOLDER / "resize.py"))


@pytest.fixture(scope="module")
def pixels(example: dict[str, Any]) -> np.ndarray:
    return np.asarray(Image.open(example["PICTURE"]))


def test_from_a_file_to_a_file(example: dict[str, Any], pixels: np.ndarray, tmp_path: Path) -> None:
    target = tmp_path / "large.png"
    example["main"]([str(example["PICTURE"]), str(target), "100", "70"])
    image = Image.open(target)
    assert (image.format, image.mode, image.size) == ("PNG", "RGBA", (100, 70))
    assert np.array_equal(np.asarray(image), example["resized"](pixels, 100, 70))


@pytest.mark.parametrize(("width", "height"), [(48, 32), (13, 9), (150, 20), (31, 200)])
def test_the_reference_is_within_the_bound(
    example: dict[str, Any], pixels: np.ndarray, width: int, height: int
) -> None:
    got = example["resized"](pixels, width, height)
    exact, bound = example["expected"](pixels, width, height)
    difference = np.abs(got - exact)
    assert got.shape == exact.shape == (height, width, 4)
    assert (difference <= bound).all()
    assert difference.mean() < 0.3  # the bound is for the worst of texels; most bytes are the nearest ones
    if (width, height) == (48, 32):
        assert np.array_equal(got, pixels)


@pytest.mark.parametrize(("width", "height"), [(13, 9), (5, 40)])
def test_both_engines_give_the_same_bits(example: dict[str, Any], pixels: np.ndarray, width: int, height: int) -> None:
    native, exact = (example["resized"](pixels, width, height, engine) for engine in ("native", "exact"))
    assert native.any() and np.array_equal(native, exact)


def test_a_target_that_is_too_small_traps(example: dict[str, Any], pixels: np.ndarray) -> None:
    source = ptxspec.Texture(pixels, filter="linear", normalized_coords=True, read="normalized_float")
    before = np.full((8, 16, 4), 7, np.uint8)
    target = ptxspec.Surface(before)
    module = ptxspec.load(example["PTX"].read_text())
    with pytest.raises(ptxspec.LaunchError, match="sust"):
        module.launch("resize", (2, 1), (16, 8), [source, target, np.uint32(17), np.uint32(8)])
    assert np.array_equal(target.texels, before)


def test_the_picture_is_the_one_its_script_makes(pixels: np.ndarray) -> None:
    assert np.array_equal(pixels, runpy.run_path(str(FOLDER / "picture.py"))["picture"]())
