"""Write the sample surveys: valid and invalid versions, and what the invalid ones break.

    python sample_xml/generate.py --out sample_xml --seed 20 --records 2000

The same seed gives the same bytes. ``*-invalid.expected.json`` maps each rule of the rulebook in ``rules/`` to
the number of its violations, given the valid file as the original (``document()`` or ``doc()``).
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from pathlib import Path

from business import SHAPE as BUSINESS_SHAPE
from business import business
from draws import Draws
from faults import BUSINESS, HOUSEHOLD
from household import SHAPE as HOUSEHOLD_SHAPE
from household import household
from survey import Fault, Record, Shape, plant, to_xml


def write_survey(out: Path, name: str, shape: Shape, records: Sequence[Record], faults: Sequence[Fault]) -> None:
    """Write NAME.xml, NAME-invalid.xml and NAME-invalid.expected.json into ``out``."""
    broken, failed = plant(records, faults)
    texts = {
        f"{name}.xml": to_xml(shape, records),
        f"{name}-invalid.xml": to_xml(shape, broken),
        f"{name}-invalid.expected.json": json.dumps(failed, indent=1) + "\n",
    }
    for file, text in texts.items():
        (out / file).write_bytes(text.encode())


def draw(kind: Callable[[Draws, int], Record], seed: int, records: int) -> list[Record]:
    """Draw the records of one survey."""
    draws = Draws(seed)
    return [kind(draws, serial) for serial in range(records)]


def main(arguments: Sequence[str] | None = None) -> None:
    """Parse the command line and write both surveys."""
    parser = argparse.ArgumentParser(description="Write the sample surveys.")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent, help="folder to write to")
    parser.add_argument("--seed", type=int, default=20)
    parser.add_argument("--records", type=int, default=2000, help="records in each file, at least 1000")
    options = parser.parse_args(arguments)
    if options.records < 1000:
        parser.error("the invalid versions need at least 1000 records to be wrong in")
    options.out.mkdir(parents=True, exist_ok=True)
    households = draw(household, options.seed, options.records)
    write_survey(options.out, "household", HOUSEHOLD_SHAPE, households, HOUSEHOLD)
    businesses = draw(business, options.seed + 1, options.records)
    write_survey(options.out, "business", BUSINESS_SHAPE, businesses, BUSINESS)


if __name__ == "__main__":
    main()
