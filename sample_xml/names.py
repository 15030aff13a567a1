"""Made-up names: text identifiers, with characters that XML and encodings make hard."""

from __future__ import annotations

FIRST = (
    "Ada", "Ben", "Clara", "David", "Elena", "Farid", "Grace", "Hugo", "Inés", "Jonas",
    "Kaja", "Liam", "Mara", "Nils", "Olga", "Piotr", "Quentin", "Rosa", "Sven", "Tariq",
    "Una", "Viktor", "Wanda", "Xavier", "Yusuf", "Zoë",
)  # fmt: skip
LAST = (
    "Abbott", "Berger", "Costa", "Dvořák", "Eriksen", "Fischer", "García", "Horvat", "Ivanova", "Jensen",
    "Kovács", "Larsen", "Müller", "Novak", "O'Brien", "Papadakis", "Quist", "Rossi", "Schmidt", "Tanaka",
    "Urban", "Virtanen", "Weber", "Şahin", "Zieliński",
)  # fmt: skip
TRADE = {
    "C": ("Tools", "Timber", "Foods", "Textiles"),
    "F": ("Builders", "Roofing", "Civil Works"),
    "G": ("Traders", "Stores", "Supplies"),
    "H": ("Haulage", "Logistics"),
    "I": ("Inns", "Catering"),
    "J": ("Software", "Media"),
}
LEGAL = {"LTD": "Ltd", "PART": "& Partners", "SOLE": ""}
