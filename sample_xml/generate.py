"""Write the sample surveys: valid and invalid versions, and what the invalid ones break.

    python sample_xml/generate.py --out sample_xml --seed 20 --records 2000

``household`` and ``business`` are flat; ``persons`` has households with their persons, and ``establishments``, a
fifth as many records, enterprises with their local units. The same seed gives the same bytes.
``*-invalid.expected.json`` maps each rule of the rulebook in ``rules/`` to the number of its violations, given the
valid file as the original (``document()`` or ``doc()``).
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from pathlib import Path

from business import SHAPE as BUSINESS_SHAPE
from business import business
from draws import Draws
from establishments import SHAPE as ESTABLISHMENTS_SHAPE
from establishments import establishments
from faults import BUSINESS, HOUSEHOLD
from household import SHAPE as HOUSEHOLD_SHAPE
from household import household
from member_faults import ESTABLISHMENTS, PERSONS
from persons import SHAPE as PERSONS_SHAPE
from persons import persons
from survey import Fault, Record, Shape, Unit, plant, to_xml


def write_survey[T: (Record, Unit)](
    out: Path, name: str, shape: Shape, records: Sequence[T], faults: Sequence[Fault[T]]
) -> None:
    """Write NAME.xml, NAME-invalid.xml and NAME-invalid.expected.json into ``out``."""
    broken, failed = plant(records, faults)
    texts = {
        f"{name}.xml": to_xml(shape, records),
        f"{name}-invalid.xml": to_xml(shape, broken),
        f"{name}-invalid.expected.json": json.dumps(failed, indent=1) + "\n",
    }
    for file, text in texts.items():
        (out / file).write_bytes(text.encode())


def draw[T](kind: Callable[[Draws, int], T], seed: int, records: int) -> list[T]:
    """Draw the records of one survey."""
    draws = Draws(seed)
    return [kind(draws, serial) for serial in range(records)]


def main(arguments: Sequence[str] | None = None) -> None:
    """Parse the command line and write all surveys."""
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
    nested = draw(persons, options.seed + 2, options.records)
    write_survey(options.out, "persons", PERSONS_SHAPE, nested, PERSONS)
    enterprises = draw(establishments, options.seed + 3, options.records // 5)
    write_survey(options.out, "establishments", ESTABLISHMENTS_SHAPE, enterprises, ESTABLISHMENTS)


if __name__ == "__main__":
    main()
