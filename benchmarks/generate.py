"""How fast rides are generated, and generated and encoded, as JSON on standard output.

    python benchmarks/generate.py [rides] [block]

One core's worth: rides per second of processor time, since Polars would else take all cores it finds.
"""

from __future__ import annotations

import json
import platform
import sys
from collections.abc import Callable
from time import perf_counter, process_time

from app.codecs.avro.encode import encode_frame
from app.rides.generator.generator import Generator
from app.rides.ride import avro_schema

SEED = 7


def measure(rides: int, block: int, make: Callable[[int], object]) -> dict[str, int]:
    """Rides per second, by processor time and by the clock, of `make(first)` over all blocks."""
    make(0)
    wall, processor = perf_counter(), process_time()
    for first in range(0, rides, block):
        make(first)
    return {
        "rides_per_processor_second": round(rides / (process_time() - processor)),
        "rides_per_second": round(rides / (perf_counter() - wall)),
    }


def main(rides: int = 1_000_000, block: int = 50_000) -> None:
    """Print the figures."""
    generator, schema = Generator(seed=SEED), avro_schema()
    figures = {
        "benchmark": "generate",
        "rides": rides,
        "block": block,
        "seed": SEED,
        "python": platform.python_version(),
        "machine": platform.machine(),
        "generate": measure(rides, block, lambda first: generator.rides(first, block)),
        "generate_and_encode": measure(
            rides, block, lambda first: encode_frame(generator.rides(first, block), schema, schema_id=1)
        ),
    }
    print(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:3]))
