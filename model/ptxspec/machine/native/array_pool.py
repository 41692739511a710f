"""The arrays that launches of one shape use one after the other: where each lies, and what the context says of it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ptxspec.machine.arrays import address_of
from ptxspec.machine.driver import inventory
from ptxspec.machine.kernel_tables import KernelTables
from ptxspec.machine.native.context import CONTEXT, FIELD

#: each array begins where a line of a processor's cache does
LINE = 64
#: bytes of a worker's arrays that are kept from launch to launch, at most
KEPT = 1 << 23


def set_array(context: np.ndarray, name: str, array: np.ndarray) -> None:
    """Let an array be where machine code finds it by a context."""
    context[FIELD[name]], context[FIELD[f"{name}_bytes"]] = address_of(array), array.nbytes


class WorkerArrays:
    """The arrays of one launch, or of one worker of it: those of the driver in one piece of memory, and others."""

    def __init__(
        self,
        type: np.dtype,
        zeros: int,
        bytes_of: Mapping[str, int],
        shared: Mapping[str, np.ndarray],
        context: np.ndarray,
    ):
        """`type` has a field for each array of the driver, `bytes_of` the lengths of the others; `shared` are arrays of all
        workers, of which the context tells already. So many bytes of the driver's arrays are zeros when a launch begins."""
        piece = np.zeros(type.itemsize, np.uint8)
        self._zeros = piece[:zeros]
        record = np.ndarray((), type, piece)
        arrays = {name: record[name] for name in type.names or ()}
        arrays |= {name: np.zeros(size, np.uint8) for name, size in bytes_of.items()}
        self._context = context.copy()
        for name, array in arrays.items():
            set_array(self._context, name, array)
        self._arrays = {**arrays, **shared}
        #: whose special registers the arrays have
        self.owner: object = None

    def begun(self) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """(a context for a new launch, the arrays that it knows). Those of the driver are zeros where they are read before they
        are written; the worker's others are as the last launch left them."""
        self.clear()
        return self._context.copy(), dict(self._arrays)

    def clear(self) -> None:
        """Let those of the driver be zeros that may be read before they are written."""
        self._zeros.fill(0)


class ArrayPool:
    """Arrays for the launches of one shape: those of each worker, and the kernel's tables, which are there once."""

    def __init__(self, shape: inventory.MachineShape, threads: int, tables: KernelTables, bytes_of: Mapping[str, int]):
        """`threads` is how many a CTA has, `bytes_of` how long those arrays are that the driver does not touch."""
        self._shared = {"slot_of": np.arange(shape.threads, dtype=np.int64) // threads}
        fields, end, columns = {}, LINE, inventory.columns()
        for name in sorted(columns, key=inventory.WRITTEN_FIRST.__contains__):
            column = columns[name]
            needed = tables.numbers["meets"] or name in tables.tables or name in inventory.OF_TURNS
            length, type = column.length(shape) if needed else 0, f"i{column.unit}"
            if name in tables.tables:
                self._shared[name] = np.zeros(length, type)
                self._shared[name][: len(tables.tables[name])] = tables.tables[name]
                continue
            if name not in inventory.WRITTEN_FIRST:
                self._zeros = end + column.unit * length
            fields[name] = ((type, (length,)), end)
            end += -(-column.unit * length // LINE) * LINE
        formats, offsets = zip(*fields.values(), strict=True)
        self._type = np.dtype({"names": [*fields], "formats": formats, "offsets": offsets, "itemsize": end})
        self._bytes_of = bytes_of
        self._context = np.zeros(len(CONTEXT), np.int64)
        for name, number in tables.numbers.items():
            self._context[FIELD[name]] = number
        for name, array in self._shared.items():
            set_array(self._context, name, array)
        self._workers: dict[int, WorkerArrays] = {}

    def arrays(self, worker: int) -> WorkerArrays:
        """The arrays of a launch's worker. One launch at a time has them."""
        arrays = self._workers.get(worker)
        if arrays is None:
            arrays = WorkerArrays(self._type, self._zeros, self._bytes_of, self._shared, self._context)
            if self._type.itemsize + sum(self._bytes_of.values()) <= KEPT:
                self._workers[worker] = arrays
        return arrays
