#!/bin/sh
# Makes the .ptx files of all examples again. Needs nvcc of CUDA 13.0 on the PATH.
set -eu
cd "$(dirname "$0")"
for name in saxpy matmul reduction mandelbrot hash resize; do
    (cd "$name" && nvcc -ptx -arch=sm_75 -o "$name.ptx" "$name.cu")
done
