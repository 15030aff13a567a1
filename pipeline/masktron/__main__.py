"""``python -m masktron``, and the command ``masktron``."""

import os
import signal
import sys
import time
from contextlib import suppress

from masktron.addresses import hide_passwords
from masktron.standard_streams import open_standard_streams
from masktron.stopping import Killed, Stopped, heeded, stoppable
from masktron.supervisor import supervised


def import_nothing_from_here() -> None:
    """Look for no module in the working folder, which somebody else may have sent, unless masktron itself lies there.

    ``python -m`` puts that folder first, and so does an empty entry of ``PYTHONPATH``.
    """
    own = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120 -- light
    named = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    here = {os.path.abspath(entry) for entry in ("", *named) if not os.path.isabs(entry)}  # noqa: PTH100, PTH117
    sys.path[:] = [entry for entry in sys.path if entry == own or entry not in here]


def start() -> None:
    """Run the command line as a process of its own, which a signal finds prepared before anything heavy is loaded."""
    begun = time.monotonic()
    import_nothing_from_here()
    open_standard_streams()
    hide_passwords(sys.argv[1:])
    supervised(heeded(), Killed)
    try:
        # what comes when all is done changes nothing any more
        with stoppable(afterwards=signal.SIG_IGN):
            from masktron.commands.line import main  # noqa: PLC0415 -- takes a while

            main(begun)
    except Stopped as stopped:
        # threads that compute, and engines that have much to take down, are not waited for
        with suppress(OSError, ValueError):
            sys.stdout.flush()
        os._exit(128 if stopped.code is None else int(stopped.code))


if __name__ == "__main__":
    start()
