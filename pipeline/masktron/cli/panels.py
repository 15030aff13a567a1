"""Which panel of the help an option stands in, and in which order: from those that many use to those that few do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any


def _options(text: str) -> list[str]:
    return text.split()


PANELS: Mapping[str, list[str]] = MappingProxyType(
    {
        "What goes in": _options(
            "--rules --data --original --manifest --masked --config --role --quasi-identifier --missing "
            "--nominal --ordinal --numeric --against --against-original --against-manifest --field "
            "--hierarchy --header --beside --class --same-order --format --format-option --record --table "
            "--original-table --metadata --phase --document --full --population"
        ),
        "How it is done": _options(
            "-k --k --method --methods --param --aggregator --grouping --recode --key-k --pram --swap "
            "--swap-rate --keep-missing --invalid --rare-units --reweight --protect --member-order --group-size-vars "
            "--shuffle --keep-order --on-refusal --secret --seed --change --add --suggested --remove --up --down "
            "--id --context --test --message --soft --accept --rename --to --to-option --width --levels "
            "--digits --suppressed --loss --importance --level --ratio --measures --risk --utility --budget "
            "--seeds --sample --warm --no-browser --port --host-name --projects --folder --behind-proxy "
            "--proxy-header --proxy-account --workers --resume --executor --scheduler --dry-run"
        ),
        "Limits": _options(
            "--limit --max-failures --allow --allow-unfired --allow-lost --allow-empty --max-observed-share "
            "--diversity --register --salt --again --memory --unit-records --max-block-records --rule-timeout "
            "--max-upload --jobs --run-minutes --run-memory --keep"
        ),
        "Output": _options(
            "--out --rows --from --write --candidate --verbose --show-values --html --html-public --map --json --csv "
            "--svrl --sarif --junit --max-findings --release-safe --rules-out --replace --version --help"
        ),
    }
)
"""Options by panel, each panel from common to rare."""

_ELSEWHERE: Mapping[tuple[str, str], str] = MappingProxyType(
    {
        ("validate", "--record-id"): "Output",
        ("mask", "--manifest"): "Output",
        ("rerun", "--manifest"): "Output",
        ("tune", "--class"): "How it is done",
        ("suggest", "--accept"): "Output",
    }
)
"""Options that mean something else in one command, by command and option."""


class PanelError(LookupError):
    """An option stands in no panel."""


def panel_of(command: str, options: Sequence[str]) -> tuple[str, int]:
    """Return the panel of an option and its place there.

    Parameters
    ----------
    command : str
    options : sequence of str
        All spellings, such as ``--rules`` and ``-r``.

    Raises
    ------
    PanelError
    """
    for option in options:
        own = _ELSEWHERE.get((command, option))
        for panel, names in PANELS.items():
            if option in names:
                # where it means something else, it stands last but for --help
                return (panel, names.index(option)) if own is None else (own, len(PANELS[own]) - 2)
    raise PanelError(f"{'/'.join(options)} of {command} stands in no panel of masktron.cli.panels")


def in_panels(command: str, parameters: Iterable[Any]) -> dict[str, list[Any]]:
    """Return what a command takes as options, by panel: required ones first, then common ones, then rare ones.

    Parameters
    ----------
    command : str
    parameters : iterable of click parameters
        Hidden ones are left out.
    """
    placed: dict[str, list[tuple[bool, int, Any]]] = {panel: [] for panel in PANELS}
    for one in parameters:
        if not getattr(one, "hidden", False):
            panel, place = panel_of(command, one.opts)
            placed[panel].append((not one.required, place, one))
    return {
        panel: [one for _, _, one in sorted(found, key=lambda row: row[:2])]
        for panel, found in placed.items()
        if found
    }
