"""The `roofline` program: `roofline`, or `python -m roofline`."""

import signal
import sys

from roofline._roofline import main as _main


def main() -> None:
    """Runs the program with the arguments of this process and exits with its code."""
    # Python's handler would delay Ctrl-C until the native code returns.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(_main(["roofline", *sys.argv[1:]]))


if __name__ == "__main__":
    main()
