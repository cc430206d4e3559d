"""Writes the sample audiences of ``events/audiences``: ``python -m local.sample_audience``.

The same bytes every time. Nobody has these numbers: they are reserved for fiction where a country
reserves some (555-01xx, Ofcom, Bundesnetzagentur, ARCEP), and elsewhere begin with digits that
the country gives to nobody, though they have a length that it uses.
"""

import csv
import io
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from local import number_variants

AUDIENCES: Final = Path(__file__).parent.parent / "events" / "audiences"
CSV_FILE: Final = AUDIENCES / "vaccination.csv"
NDJSON_FILE: Final = AUDIENCES / "sample.ndjson"
VARIANTS_FILE: Final = AUDIENCES / number_variants.FILE

COLUMNS: Final = ("address", "name", "clinic", "date", "note")
"""``note`` is in no template."""
PEOPLE: Final = 2_945
DUPLICATES: Final = 40
"""Rows whose address an earlier row has, half of them written in another way."""
INVALID: Final = 15
SEED: Final = 20_261_201

_NORTH_AMERICA: Final = ("202", "212", "312", "415", "416", "503", "604", "713", "808", "902")
_SERIES: Final = (
    *((f"+1{area}55501", 2) for area in _NORTH_AMERICA),
    ("+447700900", 3),
    ("+4917139200", 2),
    ("+49176040690", 2),
    ("+33639980", 3),
    ("+5510900000", 3),
    ("+911000000", 3),
    ("+2346000000", 3),
    ("+254300000", 3),
    ("+522000000", 3),
    ("+34100000", 3),
)
"""The fixed digits of a series, and how many digits count up in it."""

_NAMES: Final = (
    "Ada",
    "José",
    "Müller, Jörg",
    'Anne "Annie" Smith',
    "Zoë 🎉",
    "अनिता",
    "王小明",
    "ليلى",
    "Ọládélé",
    "Олена",
    "O'Neill",
    "Nguyễn Thị Hạnh",
    "さくら",
    "Wanjikũ",
    "João Conceição",
    "👩🏽‍⚕️ Dr. Núñez",
)
_CLINICS: Final = (
    "City Clinic",
    "Health Post 7, North Gate",
    'Clínica "La Esperanza"',
    "सामुदायिक स्वास्थ्य केंद्र",
    "Zahanati ya Kijiji",
)
_NOTES: Final = ("", "", "", "second dose", "asked for a call, in the morning", "two\nlines", '"')
_INVALID_ROWS: Final = (
    ("+1202", "Too Short", "City Clinic", "2026-12-07", ""),
    ("+12025550", "Too Short", "City Clinic", "2026-12-07", ""),
    ("+4477009001234567890", "Too Long", "City Clinic", "2026-12-07", ""),
    ("+1202555O1O1", "Letters", "City Clinic", "2026-12-07", ""),
    ("call me", "Letters", "City Clinic", "2026-12-07", ""),
    ("2025550101", "No Country", "City Clinic", "2026-12-07", ""),
    ("447700900101", "No Plus", "City Clinic", "2026-12-07", ""),
    ("07700 900101", "No Country", "City Clinic", "2026-12-07", ""),
    ("+9991234567890", "No Such Country", "City Clinic", "2026-12-07", ""),
    ("", "No Address", "City Clinic", "2026-12-07", ""),
    ("   ", "No Address", "City Clinic", "2026-12-07", ""),
    ("us.lowercase", "No User Id", "City Clinic", "2026-12-07", ""),
    ("+447700909001", "", "City Clinic", "2026-12-07", "no name"),
    ("+447700909002", "No Clinic", "  ", "2026-12-07", ""),
    ("+447700909003", "No Date"),
)


def csv_rows() -> list[tuple[str, ...]]:
    """The rows of the CSV without its header: people, duplicates and invalid rows, mixed."""
    dice = random.Random(SEED)
    people = _people(dice)
    again = [_again(dice, index, dice.choice(people)) for index in range(DUPLICATES)]
    later = [*again, *_INVALID_ROWS]
    rows = list(people)
    for row in later:
        rows.insert(dice.randrange(len(rows) + 1), row)
    return rows


def people() -> list[tuple[str, ...]]:
    """The rows of everybody who can be sent to, each once."""
    return _people(random.Random(SEED))


def csv_bytes() -> bytes:
    """The CSV as spreadsheets write it: UTF-8 with a byte order mark, lines ended by CR LF."""
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(COLUMNS)
    writer.writerows(csv_rows())
    return text.getvalue().encode("utf-8-sig")


def ndjson_bytes() -> bytes:
    """A few people as NDJSON, one of them known by a user id only."""
    people: list[dict[str, object]] = [
        {
            "address": address,
            "parameters": {"name": name, "clinic": "City Clinic", "date": "2026-12-07"},
        }
        for address, name in (
            ("+12025550101", "Ada"),
            ("+447700900102", "Zoë 🎉"),
            ("US.13491208655302741918", "Edsger"),
            ("+911000000103", "अनिता"),
        )
    ]
    people[1]["phone_number_id"] = "106540352242922"
    lines = [json.dumps(person, ensure_ascii=False) for person in people]
    return "".join(f"{line}\n" for line in lines).encode()


def _people(dice: random.Random) -> list[tuple[str, ...]]:
    return [_person(dice, address) for address in _addresses(dice)]


def _addresses(dice: random.Random) -> list[str]:
    everybody = list(_all_addresses())
    return dice.sample(everybody, PEOPLE)


def _all_addresses() -> Iterator[str]:
    for fixed, digits in _SERIES:
        for number in range(10**digits):
            yield f"{fixed}{number:0{digits}}"


def _person(dice: random.Random, address: str) -> tuple[str, ...]:
    date = f"2026-12-{dice.randint(7, 23):02}"
    return (address, dice.choice(_NAMES), dice.choice(_CLINICS), date, dice.choice(_NOTES))


def _again(dice: random.Random, index: int, person: tuple[str, ...]) -> tuple[str, ...]:
    address, *rest = person
    if index % 2:
        address = _written_otherwise(dice, address)
    return (address, *rest)


def _written_otherwise(dice: random.Random, address: str) -> str:
    return dice.choice(
        (
            f"whatsapp:{address}",
            f"tel:{address}",
            f"00{address[1:]}",
            f"{address[:4]} {address[4:7]}-{address[7:]}",
            f"{address[:3]} ({address[3:6]}) {address[6:]}",
        )
    )


def main() -> None:
    """Write all files."""
    AUDIENCES.mkdir(parents=True, exist_ok=True)
    for file, content in (
        (CSV_FILE, csv_bytes()),
        (NDJSON_FILE, ndjson_bytes()),
        (VARIANTS_FILE, number_variants.csv_bytes()),
    ):
        file.write_bytes(content)
        print(f"{file}: {len(content)} bytes")


if __name__ == "__main__":
    main()
